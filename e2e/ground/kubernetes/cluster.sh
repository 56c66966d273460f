# shellcheck shell=bash
# Sourced. What belongs to the cluster of this checkout is named after an id, so that other checkouts may run theirs at
# the same time.

kubernetes="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=../tool-cache.sh
. "$kubernetes/../tool-cache.sh"

checkout="$(cd "$kubernetes/../../.." && pwd)"
CLUSTER_ID="${CLUSTER_ID:-$(printf %s "$checkout" | sha256sum | cut -c1-6)}"
[[ "$CLUSTER_ID" =~ ^[0-9a-z]{1,6}$ ]] ||
  fail 'CLUSTER_ID must be 1 to 6 digits and lower case letters'
# shellcheck disable=SC2034 # used by those that source this
cluster_name="clustersync-$CLUSTER_ID"
run="$cache/clusters/$CLUSTER_ID"
kubeconfig="$run/kubeconfig"
cluster_env="$run/cluster.env"

say() {
  echo "cluster $CLUSTER_ID: $*" >&2
}

# lock: one script at a time works on this cluster; released by the end of this process
lock() {
  local file="$cache/clusters/$CLUSTER_ID.lock"
  mkdir -p "$cache/clusters"
  # Who had it before may have removed it.
  until [ "$file" -ef /proc/self/fd/9 ]; do
    exec 9>"$file"
    flock -w 600 9 || fail "another script has been at work on cluster $CLUSTER_ID for 10 minutes"
  done
}

# until_true SECONDS TEXT COMMAND...
until_true() {
  local seconds="$1" text="$2" deadline=$((SECONDS + $1))
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || {
      say "not within $seconds s: $text"
      return 1
    }
    sleep 0.1
  done
}

# kubectl ARGUMENT...: the pinned one, on this cluster
kubectl() {
  "$(hyperkube_folder)/kubectl" --kubeconfig "$kubeconfig" "$@"
}

# setting NAME: of the cluster that is up
setting() {
  sed -n "s/^$1=//p" "$cluster_env" 2>/dev/null
}
