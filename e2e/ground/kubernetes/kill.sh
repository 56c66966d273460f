#!/usr/bin/env bash
# kill.sh COMPONENT [SIGNAL]: sends a signal (default KILL) to kube-apiserver, etcd, kubelet, containerd,
# kube-controller-manager, kube-scheduler, kube-proxy or coredns. A component that ends is started again at once.
set -euo pipefail
# shellcheck source=cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
# shellcheck source=local/local.sh
. "$kubernetes/local/local.sh"
# shellcheck source=kind/kind.sh
. "$kubernetes/kind/kind.sh"

component="${1:?kill.sh COMPONENT [SIGNAL]}"
signal="${2:-KILL}"
case "$(setting E2E_CLUSTER)" in
  local) local_kill "$component" "${signal#SIG}" ;;
  kind) kind_kill "$component" "${signal#SIG}" ;;
  *) fail 'the cluster is not up' ;;
esac
