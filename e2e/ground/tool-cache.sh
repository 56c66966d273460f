# shellcheck shell=bash
# Sourced. Built tools live outside the checkout, each in a folder named after a hash of all that it is built from, so
# that nothing is built twice and checkouts of different versions do not meet.

ground="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache="${CLUSTERSYNC_TOOLS:-$HOME/.cache/clustersync-tools}"

kubernetes_version=v1.34.4 # as in kubernetes/hyperkube/go.mod
helm_version=v3.22.0
kind_version=v0.30.0
gopher_lua_version=v1.1.1 # as in Argo CD

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# key_of TEXT...: 16 hexadecimal digits
key_of() {
  printf '%s\n' "$@" | sha256sum | cut -c1-16
}

# version_flags: the linker flags that make the programs of Kubernetes know their version
version_flags() {
  local version="${kubernetes_version#v}" package
  local major="${version%%.*}" minor="${version#*.}"
  printf '%s' '-s -w'
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf ' -X %s=%s' "$package.gitVersion" "$kubernetes_version" "$package.gitMajor" "$major" \
      "$package.gitMinor" "${minor%%.*}"
  done
}

# hyperkube_folder: has hyperkube, kubectl and pause
hyperkube_folder() {
  local source="$ground/kubernetes/hyperkube"
  echo "$cache/hyperkube-$(key_of "$(go_version "$source")" "$(version_flags)" \
    "$(cd "$source" && sha256sum go.mod go.sum ./*.go pause/*.go)")"
}

helm_folder() {
  echo "$cache/helm-$(key_of "$(go_version "$ground")" "$helm_version")"
}

# promql_folder: has promql, the engine of Prometheus
promql_folder() {
  own_program_folder promql
}

# kstatus_folder: has kstatus, by which Flux judges
kstatus_folder() {
  own_program_folder kstatus
}

# own_program_folder NAME: where the Go program of this folder's NAME is
own_program_folder() {
  local source="$ground/$1"
  echo "$cache/$1-$(key_of "$(go_version "$source")" "$(cd "$source" && sha256sum go.mod go.sum ./*.go)")"
}

# lua_folder: has glua, the Lua that Argo CD runs health checks with
lua_folder() {
  echo "$cache/lua-$(key_of "$(go_version "$ground")" "$gopher_lua_version")"
}

kind_folder() {
  echo "$cache/kind-$(key_of "$(go_version "$ground")" "$kind_version")"
}

# go_version FOLDER: the version of Go that builds there
go_version() {
  command -v go >/dev/null || fail 'Go is missing (1.24 or newer): https://go.dev/dl'
  (cd "$1" && go env GOVERSION GOOS GOARCH | tr '\n' ' ')
}

# Where the cluster runs: with Docker as a container (kind), otherwise in namespaces of this machine (local).
cluster_kind() {
  local kind="${E2E_CLUSTER:-}"
  if [ -z "$kind" ]; then
    if docker_answers; then kind=kind; else kind=local; fi
  fi
  case "$kind" in
    local | kind) echo "$kind" ;;
    *) fail "E2E_CLUSTER must be local or kind, not '$kind'" ;;
  esac
}

# cni_folder: where the network plug-ins are; nothing when they are not installed
cni_folder() {
  local folder
  for folder in /usr/lib/cni /opt/cni/bin; do
    if [ -x "$folder/ptp" ] && [ -x "$folder/host-local" ]; then echo "$folder" && return; fi
  done
}

docker_answers() {
  command -v docker >/dev/null && timeout 10 docker version >/dev/null 2>&1
}
