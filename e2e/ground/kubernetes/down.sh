#!/usr/bin/env bash
# Takes the cluster of this checkout down and removes all that up.sh made, whatever state it is in.
set -euo pipefail
# shellcheck source=cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
# shellcheck source=local/local.sh
. "$kubernetes/local/local.sh"
# shellcheck source=kind/kind.sh
. "$kubernetes/kind/kind.sh"

[ "${1:-}" = --locked ] || lock
local_down
kind_down
rm -rf "$run"
[ "${1:-}" = --locked ] || rm -f "$cache/clusters/$CLUSTER_ID.lock"
