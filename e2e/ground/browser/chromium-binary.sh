#!/usr/bin/env bash
# Prints the path of a Chromium for the tests of the dashboard. Looks at $CHROMIUM_BINARY, then on PATH; where there is none, the
# distribution's is installed.
set -euo pipefail
# shellcheck source=../tool-cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tool-cache.sh"

found() {
  local name
  for name in ${CHROMIUM_BINARY:+"$CHROMIUM_BINARY"} chromium chromium-browser google-chrome; do
    command -v "$name" && return
  done
  return 1
}

install_now() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
}

install_chromium() {
  local way='install Chromium, or set CHROMIUM_BINARY to one'
  command -v apt-get >/dev/null || fail "there is no Chromium, and no apt-get to install it: $way"
  [ "$(id -u)" = 0 ] || fail "there is no Chromium, and only root can install it: $way"
  echo 'chromium: installing (once; about a minute)' >&2
  install_now >/dev/null 2>&1 || { apt-get update -qq && install_now; } >&2 ||
    fail "it could not be installed: $way"
}

mkdir -p "$cache"
# Another run may be at it: one installs, the others wait and find it there.
exec 9>"$cache/chromium.lock"
flock 9
found || { install_chromium && found; } || fail 'it is not on PATH, although it was installed'
