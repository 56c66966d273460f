#!/usr/bin/env bash
# kill-container.sh ID [SIGNAL]: sends a signal (default KILL) to the first process of a container, which cannot be done
# from within: there the kernel protects it.
set -euo pipefail
# shellcheck source=cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
# shellcheck source=local/local.sh
. "$kubernetes/local/local.sh"
# shellcheck source=kind/kind.sh
. "$kubernetes/kind/kind.sh"

container="${1:?kill-container.sh ID [SIGNAL]}"
signal="${2:-KILL}"
case "$(setting E2E_CLUSTER)" in
  local) local_kill_container "$container" "SIG${signal#SIG}" ;;
  kind) kind_kill_container "$container" "SIG${signal#SIG}" ;;
  *) fail 'the cluster is not up' ;;
esac
