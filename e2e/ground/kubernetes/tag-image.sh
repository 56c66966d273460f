#!/usr/bin/env bash
# tag-image.sh IMAGE NAME: gives an image that this checkout's cluster has another name.
set -euo pipefail
# shellcheck source=cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
# shellcheck source=local/local.sh
. "$kubernetes/local/local.sh"
# shellcheck source=kind/kind.sh
. "$kubernetes/kind/kind.sh"

image="${1:?tag-image.sh IMAGE NAME}"
name="${2:?tag-image.sh IMAGE NAME}"
case "$(setting E2E_CLUSTER)" in
  local) local_tag_image "$image" "$name" ;;
  kind) kind_tag_image "$image" "$name" ;;
  *) fail 'the cluster is not up' ;;
esac
