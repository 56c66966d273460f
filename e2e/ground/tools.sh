#!/usr/bin/env bash
# Gets everything that the tests need and that npm does not bring, into the cache of tools: mongod, the programs of
# Kubernetes, helm, what evaluates alerts and health checks, and kind where it is used. What is there already is left alone.
set -euo pipefail
# shellcheck source=tool-cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/tool-cache.sh"

packages=(containerd runc containernetworking-plugins nftables conntrack iproute2 procps openssl)

main() {
  local kind
  kind="$(cluster_kind)"
  for program in go flock sha256sum; do
    command -v "$program" >/dev/null || fail "$program is missing"
  done
  mkdir -p "$cache"
  [ "$kind" = kind ] || install_packages
  "$ground/mongod/mongod-binary.sh" >/dev/null
  # Tests on it are skipped, by name, where this machine cannot have it.
  "$ground/mongod/mongod-binary.sh" 7.0 >/dev/null || [ $? = 3 ]
  provide "$(hyperkube_folder)" build_hyperkube \
    'building Kubernetes, etcd and CoreDNS (once; 5 to 15 minutes on 2 cores)'
  provide "$(helm_folder)" build_helm 'building helm (once; 1 to 3 minutes on 2 cores)'
  provide "$(promql_folder)" build_promql 'building the engine of Prometheus (once; under a minute)'
  provide "$(kstatus_folder)" build_kstatus 'building kstatus (once; under a minute)'
  provide "$(lua_folder)" build_lua 'building Lua (once; seconds)'
  [ "$kind" = local ] || provide "$(kind_folder)" build_kind 'building kind (once; under a minute)'
}

# provide FOLDER COMMAND TEXT: runs COMMAND with a temporary folder to fill, which becomes FOLDER when it has ended well
provide() {
  local folder="$1" command="$2" text="$3" name work started=$SECONDS
  [ ! -d "$folder" ] || return 0
  name="$(basename "$folder")"
  (
    # Another checkout may be at it: one builds, the others wait and find it there.
    exec 9>"$cache/${name%-*}.lock"
    flock -n 9 || { say "waiting for another build of ${name%-*}" && flock 9; }
    [ ! -d "$folder" ] || exit 0
    say "$text"
    rm -rf "$cache/.${name%-*}".* # left by a build that was killed
    work="$(mktemp -d "$cache/.${name%-*}.XXXXXX")"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM HUP
    # Not left open in what is started: it holds the lock.
    "$command" "$work" 9>&-
    chmod 755 "$work"
    mv -T "$work" "$folder"
    say "${name%-*} built in $((SECONDS - started)) s"
  )
}

build_hyperkube() {
  cd "$ground/kubernetes/hyperkube"
  go_build "$1" build -buildvcs=false -ldflags "$(version_flags)" -o "$1/" \
    . ./pause k8s.io/kubernetes/cmd/kubectl
}

build_helm() {
  GOBIN="$1" go_build "$1" install -ldflags '-s -w' "helm.sh/helm/v3/cmd/helm@$helm_version"
}

build_promql() {
  build_own_program promql "$1"
}

build_kstatus() {
  build_own_program kstatus "$1"
}

# build_own_program NAME FOLDER
build_own_program() {
  cd "$ground/$1"
  go_build "$2" build -buildvcs=false -ldflags '-s -w' -o "$2/" .
}

build_lua() {
  GOBIN="$1" go_build "$1" install -ldflags '-s -w' "github.com/yuin/gopher-lua/cmd/glua@$gopher_lua_version"
}

build_kind() {
  GOBIN="$1" go_build "$1" install -ldflags '-s -w' "sigs.k8s.io/kind@$kind_version"
}

# go_build FOLDER ARGUMENT...: runs go, showing its output only if it fails
go_build() {
  local output="$1/output"
  shift
  CGO_ENABLED=0 GOFLAGS='' nice go "$1" -trimpath "${@:2}" 2>"$output" || {
    grep -v '^go: downloading' "$output" >&2
    fail 'the Go build failed'
  }
  rm "$output"
}

# The programs that run containers come from the distribution.
install_packages() {
  local missing=()
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  command -v apt-get >/dev/null ||
    fail "these are missing, and there is no apt-get to install them: ${missing[*]} (or use E2E_CLUSTER=kind with Docker)"
  [ "$(id -u)" = 0 ] ||
    fail "run as root: apt-get install ${missing[*]} (or use E2E_CLUSTER=kind with Docker)"
  say "installing ${missing[*]}"
  install_now "${missing[@]}" >/dev/null 2>&1 ||
    { apt-get update -qq && install_now "${missing[@]}"; } >&2 ||
    fail "could not install ${missing[*]}"
}

install_now() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    has_package "$package" || echo "$package"
  done
}

has_package() {
  case "$1" in
    containernetworking-plugins) [ -n "$(cni_folder)" ] ;;
    containerd) [ -n "$(command -v containerd)" ] && [ -n "$(command -v ctr)" ] ;;
    nftables) [ -n "$(command -v nft)" ] ;;
    procps) [ -n "$(command -v pgrep)" ] ;;
    iproute2) [ -n "$(command -v ip)" ] ;;
    *) [ -n "$(command -v "$1")" ] ;;
  esac
}

say() {
  echo "tools: $*" >&2
}

main
