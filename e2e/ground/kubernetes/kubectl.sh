#!/usr/bin/env bash
# Runs kubectl on the cluster of this checkout.
set -euo pipefail
# shellcheck source=cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

[ -n "$(setting E2E_CLUSTER)" ] || fail 'the cluster is not up: make cluster-up'
kubectl "$@"
