# shellcheck shell=bash
# Sourced, after cluster.sh. A cluster of one node in network, process and mount namespaces of its own: when the first
# process of the process namespace ends, everything in it ends.

# shellcheck source=image-archive.sh
. "$kubernetes/image-archive.sh"
# shellcheck source=local/network.sh
. "$kubernetes/local/network.sh"
# shellcheck source=local/certificates.sh
. "$kubernetes/local/certificates.sh"
# shellcheck source=local/cgroups.sh
. "$kubernetes/local/cgroups.sh"

node_name=node1

local_ingredients() {
  hyperkube_folder
  cat "$kubernetes"/local/*.sh "$kubernetes"/local/config/*
}

local_up() {
  [ "$(id -u)" = 0 ] || fail 'a cluster in namespaces needs root (or use E2E_CLUSTER=kind with Docker)'
  local pause_image=clustersync.local/pause:1
  make_network
  make_certificates "$run/certificates" "$node_address" "$first_service_address"
  write_kubeconfig
  make_cgroups
  write_configs
  mkdir -p "$run/log" "$run/bin"
  start_init
  # From then on its mounts hide what this machine has in the same places.
  until_true 10 'its first process starts' test -s "$run/pids/containerd" || show_logs
  until_true 60 'containerd answers' in_cluster ctr version || show_logs
  import_pause_image "$pause_image"
  until_true 120 'the API server is ready' kubectl get --raw /readyz || show_logs
  kubectl wait --for=create --timeout=300s serviceaccount/default >/dev/null || show_logs
  kubectl wait --for=create --timeout=300s "node/$node_name" >/dev/null || show_logs
  kubectl wait --for=condition=Ready --timeout=300s "node/$node_name" >/dev/null || show_logs
}

local_is_up() {
  [ -n "$(init_pid)" ] && kubectl get --raw /readyz --request-timeout=5s >/dev/null 2>&1
}

local_host_address() {
  ip -o -4 address show dev "$link" | sed -E 's/.* inet ([0-9.]+).*/\1/'
}

local_down() {
  [ "$(id -u)" = 0 ] || return 0
  local pids=()
  mapfile -t pids < <(processes)
  if [ "${#pids[@]}" -gt 0 ]; then
    kill -KILL "${pids[@]}" 2>/dev/null || true
    until_true 60 'its processes end' all_ended "${pids[@]}"
  fi
  remove_network
  remove_cgroups
}

local_kill() {
  local file="$run/pids/$1"
  [ -s "$file" ] || fail "no component $1"
  in_cluster kill "-$2" "$(cat "$file")"
}

# local_kill_container ID SIGNAL
local_kill_container() {
  in_cluster ctr --namespace k8s.io task kill --signal "$2" "$1"
}

# local_load: a docker-archive, from standard input
local_load() {
  in_cluster ctr --namespace k8s.io images import - >/dev/null
}

# local_tag_image IMAGE NAME
local_tag_image() {
  in_cluster ctr --namespace k8s.io images tag --force "$1" "$2" >/dev/null
}

# local_has_image NAME
local_has_image() {
  [ -n "$(in_cluster ctr --namespace k8s.io images list --quiet "name==$1")" ]
}

start_init() {
  local tools
  tools="$(hyperkube_folder)"
  # Not given the lock: it outlives this script.
  setsid nsenter --net="/run/netns/$cluster_name" unshare --mount --pid --fork --mount-proc --kill-child \
    bash "$kubernetes/local/init.sh" "$run" "$tools" "$node_address" "$services" \
    </dev/null >"$run/log/init.log" 2>&1 9>&- &
}

# processes [BEFORE]: those that run init.sh for this cluster, found by their command line: no file can be lost
processes() {
  pgrep --full "${1:-}/init\.sh $run " || true
}

# init_pid: the first process of the namespaces, as seen from outside; nothing if it is not running
init_pid() {
  local parent
  parent="$(processes '^unshare .*')"
  [ -z "$parent" ] || pgrep --parent "$parent" || true
}

# in_cluster COMMAND...: in its process and mount namespaces
in_cluster() {
  local pid
  pid="$(init_pid)"
  [ -n "$pid" ] || {
    say 'it is not running'
    return 1
  }
  nsenter --target "$pid" --pid --mount "$@"
}

all_ended() {
  local pid
  for pid; do
    # A zombie has ended; its parent has not looked yet.
    [ ! -e "/proc/$pid" ] || grep -q '^State:\sZ' "/proc/$pid/status" || return 1
  done
}

write_kubeconfig() {
  (umask 077 && kubeconfig_of "$run/certificates" "https://$node_address:6443" >"$kubeconfig")
}

write_configs() {
  local file
  mkdir -p "$run/config" "$run/config/cni"
  for file in "$kubernetes"/local/config/*; do
    sed -e "s|@NODE_ADDRESS@|$node_address|g" -e "s|@NODE_NAME@|$node_name|g" \
      -e "s|@PODS@|$pods|g" -e "s|@CGROUP@|/$cluster_name|g" \
      -e "s|@CNI_FOLDER@|$(cni_folder)|g" -e "s|@PAUSE_IMAGE@|$pause_image|g" \
      "$file" >"$run/config/$(basename "$file")"
  done
  mv "$run/config/cni.conflist" "$run/config/cni/"
}

import_pause_image() {
  local root
  root="$(mktemp -d "$run/pause.XXXXXX")"
  cp "$(hyperkube_folder)/pause" "$root/pause"
  archive_layer "$root" "$run/pause.layer"
  image_archive "$1" '{"Entrypoint":["/pause"]}' "$run/pause.layer" | local_load
  rm -rf "$root" "$run"/pause.layer*
}

show_logs() {
  tail -n 20 "$run"/log/*.log >&2
  fail "the cluster did not come up; its logs are in $run/log"
}
