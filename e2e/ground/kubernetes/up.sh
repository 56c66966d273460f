#!/usr/bin/env bash
# Brings up the cluster of this checkout, where it is not up yet, and prints the path of a file that says how to use it.
#   E2E_CLUSTER=local|kind   in namespaces of this machine, or in Docker (default: kind where Docker answers)
set -euo pipefail
# shellcheck source=cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
# shellcheck source=local/local.sh
. "$kubernetes/local/local.sh"
# shellcheck source=kind/kind.sh
. "$kubernetes/kind/kind.sh"

main() {
  local kind made_of started="$EPOCHREALTIME"
  kind="$(cluster_kind)"
  "$ground/tools.sh"
  lock
  made_of="$kind-$(key_of "$("${kind}_ingredients")")"
  if [ "$(setting MADE_OF)" != "$made_of" ] || ! "${kind}_is_up"; then
    "$kubernetes/down.sh" --locked
    remove_orphans
    mkdir -p "$run"
    chmod 700 "$run"
    echo "$checkout" >"$run/checkout"
    "${kind}_up"
    write_cluster_env "$kind" "$made_of"
    say "up in $((${EPOCHREALTIME/./} / 1000 - ${started/./} / 1000)) ms ($kind)"
  fi
  echo "$cluster_env"
}

# Written last: a cluster without it did not come up.
write_cluster_env() {
  cat >"$cluster_env.new" <<ENV
E2E_CLUSTER=$1
MADE_OF=$2
CLUSTER_ID=$CLUSTER_ID
KUBECONFIG=$kubeconfig
HOST_ADDRESS=$("${1}_host_address")
KUBECTL=$(hyperkube_folder)/kubectl
HELM=$(helm_folder)/helm
ENV
  mv "$cluster_env.new" "$cluster_env"
}

# Clusters whose checkout is gone have nobody who would take them down.
remove_orphans() {
  local file
  for file in "$cache"/clusters/*/checkout; do
    [ -e "$file" ] || continue
    [ -e "$(cat "$file")" ] || CLUSTER_ID="$(basename "$(dirname "$file")")" "$kubernetes/down.sh" 9>&-
  done
}

main
