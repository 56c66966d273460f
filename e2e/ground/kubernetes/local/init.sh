#!/bin/bash
# init.sh RUN TOOLS NODE_ADDRESS SERVICES: process 1 of the cluster's namespaces. Starts the components, and starts each
# again when it ends.
set -u
run="$1" tools="$2" node_address="$3" services="$4"
cd /
ulimit -n 20000
ulimit -c 0

# From here on the folder of this cluster is /mnt, and the fixed places of its programs are inside of it: nothing that
# they write meets anything of this machine.
mount --bind "$tools" "$run/bin"
mount --rbind "$run" /mnt
for folder in run var/lib var/log; do
  mkdir -p "/mnt/root/$folder"
  mount --bind "/mnt/root/$folder" "/$folder"
done

# The kubelet wants these settings, which are the whole machine's: it is made to find them.
mkdir -p /mnt/sysctl
while read -r name value; do
  echo "$value" >"/mnt/sysctl/${name//\//.}"
  mount --bind "/mnt/sysctl/${name//\//.}" "/proc/sys/$name"
done <<SETTINGS
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
SETTINGS

# The names that the programs look up are the cluster's own.
echo "nameserver $node_address" >/mnt/resolv.conf
if [ -e /etc/resolv.conf ]; then
  mount --bind /mnt/resolv.conf /etc/resolv.conf
elif target="$(readlink -m /etc/resolv.conf)" && [[ "$target" == /run/* ]]; then
  mkdir -p "$(dirname "$target")" && cp /mnt/resolv.conf "$target"
fi

export KUBECONFIG=/mnt/kubeconfig
mkdir -p /mnt/pids

# component NAME COMMAND...
component() {
  local name="$1"
  shift
  while :; do
    "$@" &
    echo "$!" >"/mnt/pids/$name"
    wait "$!"
    echo "ENDED with status $?"
    sleep 0.3
  done >"/mnt/log/$name.log" 2>&1 &
}

hyperkube=/mnt/bin/hyperkube
certificates=/mnt/certificates

component containerd containerd --config /mnt/config/containerd.toml
component etcd "$hyperkube" etcd --data-dir=/var/lib/etcd --unsafe-no-fsync --log-level=warn \
  --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
  --listen-peer-urls=http://127.0.0.1:2380
component kube-apiserver "$hyperkube" kube-apiserver \
  --etcd-servers=http://127.0.0.1:2379 \
  --bind-address=0.0.0.0 --secure-port=6443 --advertise-address="$node_address" \
  --service-cluster-ip-range="$services" --endpoint-reconciler-type=master-count \
  --authorization-mode=RBAC --allow-privileged=true \
  --client-ca-file=$certificates/ca.crt \
  --tls-cert-file=$certificates/apiserver.crt --tls-private-key-file=$certificates/apiserver.key \
  --kubelet-client-certificate=$certificates/admin.crt --kubelet-client-key=$certificates/admin.key \
  --kubelet-preferred-address-types=InternalIP \
  --service-account-issuer=https://kubernetes.default.svc \
  --service-account-key-file=$certificates/service-account.pub \
  --service-account-signing-key-file=$certificates/service-account.key \
  --shutdown-delay-duration=0s

# The others wait longer than this when they do not find it.
until /mnt/bin/kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.1; done
component kube-controller-manager "$hyperkube" kube-controller-manager \
  --kubeconfig=$KUBECONFIG --bind-address=127.0.0.1 --leader-elect=false \
  --service-account-private-key-file=$certificates/service-account.key --root-ca-file=$certificates/ca.crt \
  --cluster-signing-cert-file=$certificates/ca.crt --cluster-signing-key-file=$certificates/ca.key
component kube-scheduler "$hyperkube" kube-scheduler \
  --kubeconfig=$KUBECONFIG --bind-address=127.0.0.1 --leader-elect=false
component kubelet "$hyperkube" kubelet --config=/mnt/config/kubelet.yaml --kubeconfig=$KUBECONFIG \
  --hostname-override=node1 --node-ip="$node_address"
component kube-proxy "$hyperkube" kube-proxy --config=/mnt/config/kube-proxy.yaml
component coredns "$hyperkube" coredns -conf /mnt/config/Corefile

# Reaps the orphans of the namespace.
while :; do
  wait -n
  [ $? != 127 ] || sleep 1
done
