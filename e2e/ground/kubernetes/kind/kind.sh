# shellcheck shell=bash
# Sourced, after cluster.sh. A cluster in a container, by kind.
#   KIND_NODE_IMAGE   the image of the node, for another version of Kubernetes (1.32 or newer)
#   E2E_API_ADDRESS   where the API server is published, where the engine is not on this machine's loopback (127.0.0.1)
#   E2E_HOST_ADDRESS  where pods reach this machine, where that is not the gateway of the network "kind"

kind_ingredients() {
  kind_folder
  cat "$kubernetes/kind/kind.sh" "$kubernetes/kind/cluster.yaml"
  echo "${KIND_NODE_IMAGE:-} ${E2E_API_ADDRESS:-} ${E2E_HOST_ADDRESS:-} ${DOCKER_HOST:-}"
}

kind_up() {
  docker_answers || fail 'Docker does not answer (or use E2E_CLUSTER=local)'
  say 'kind creates it (half a minute to 2 minutes; longer where the image of the node is pulled first)'
  sed "s|@API_ADDRESS@|${E2E_API_ADDRESS:-127.0.0.1}|" "$kubernetes/kind/cluster.yaml" >"$run/kind.yaml"
  "$(kind_folder)/kind" create cluster --name "$cluster_name" --kubeconfig "$kubeconfig" \
    --config "$run/kind.yaml" ${KIND_NODE_IMAGE:+--image="$KIND_NODE_IMAGE"} --wait=300s >"$run/kind.log" 2>&1 9>&- || {
    cat "$run/kind.log" >&2
    fail 'kind did not bring the cluster up'
  }
  kubectl wait --for=create --timeout=60s serviceaccount/default >/dev/null
  kubectl --namespace kube-system rollout status --timeout=300s deployment/coredns >/dev/null
}

kind_is_up() {
  kubectl get --raw /readyz --request-timeout=5s >/dev/null 2>&1
}

kind_host_address() {
  if [ -n "${E2E_HOST_ADDRESS:-}" ]; then
    echo "$E2E_HOST_ADDRESS"
    return
  fi
  docker network inspect kind --format '{{range .IPAM.Config}}{{println .Gateway}}{{end}}' | grep -m1 -E '^[0-9]+\.' ||
    fail 'the network of kind has no gateway: set E2E_HOST_ADDRESS'
}

# What "kind delete cluster" does; done without kind, which may not be there (any more).
kind_down() {
  local containers
  docker_answers || return 0
  mapfile -t containers < <(docker ps --all --quiet --filter "label=io.x-k8s.kind.cluster=$cluster_name")
  [ "${#containers[@]}" = 0 ] || docker rm --force --volumes "${containers[@]}" >/dev/null
}

# The name before it may be a path; a component's own arguments follow.
kind_kill() {
  docker exec "$(kind_node)" pkill "-$2" -f "^([^ ]*/)?$1( |\$)"
}

# kind_kill_container ID SIGNAL
kind_kill_container() {
  docker exec "$(kind_node)" ctr --namespace k8s.io task kill --signal "$2" "$1"
}

# kind_load: a docker-archive, from standard input
kind_load() {
  local archive="$run/image.tar"
  cat >"$archive"
  "$(kind_folder)/kind" load image-archive "$archive" --name "$cluster_name" >&2
  rm "$archive"
}

# kind_tag_image IMAGE NAME
kind_tag_image() {
  docker exec "$(kind_node)" ctr --namespace k8s.io images tag --force "$1" "$2" >/dev/null
}

# kind_has_image NAME
kind_has_image() {
  [ -n "$(docker exec "$(kind_node)" ctr --namespace k8s.io images list --quiet "name==$1")" ]
}

kind_node() {
  echo "$cluster_name-control-plane"
}
