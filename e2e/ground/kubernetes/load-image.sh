#!/usr/bin/env bash
# Builds the image of this checkout where needed, loads it into its cluster where needed, and prints its name.
set -euo pipefail
# shellcheck source=image-parts.sh
. "$(dirname "${BASH_SOURCE[0]}")/image-parts.sh"
# shellcheck source=local/local.sh
. "$kubernetes/local/local.sh"
# shellcheck source=kind/kind.sh
. "$kubernetes/kind/kind.sh"

main() {
  local image kind started="$EPOCHREALTIME"
  kind="$(setting E2E_CLUSTER)"
  [ -n "$kind" ] || fail 'the cluster is not up'
  image="$("$kubernetes/image.sh")"
  lock
  if ! "${kind}_has_image" "$image"; then
    write_archive "$image" | "${kind}_load"
    say "loaded $image in $((${EPOCHREALTIME/./} / 1000 - ${started/./} / 1000)) ms"
  fi
  echo "$image"
}

# write_archive IMAGE: to standard output
write_archive() {
  if is_built_by_hand "$1"; then archive_of "$1"; else docker save "$1"; fi
}

main
