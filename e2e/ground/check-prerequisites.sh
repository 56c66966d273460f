#!/bin/sh
# Says in plain words what this machine lacks for building and testing. Exit code 1 when something is missing.
set -u

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

check_version Node.js 20 "$(node --version 2>/dev/null | first_number)" 'https://nodejs.org'
check_version npm 9 "$(npm --version 2>/dev/null | first_number)" 'comes with Node.js'
check_version Go 1.24 "$(go env GOVERSION 2>/dev/null | first_number)" 'https://go.dev/dl; builds the local Kubernetes'
check_version 'Python' 3.8 "$(python3 --version 2>/dev/null | first_number)" 'https://www.python.org'
check_version 'pip, for Python 3,' 20 "$(python3 -m pip --version 2>/dev/null | first_number)" 'python3-pip; fetches mongod'
check_version make 3.81 "$(make --version 2>/dev/null | first_number)" 'https://www.gnu.org/software/make'

exit "$missing"
