# shellcheck shell=bash
# Sourced, after cluster.sh. The cluster's network namespace, joined to this machine by a pair of virtual interfaces.
# Pods reach this machine at its end of the pair; nothing is forwarded beyond it.

link="clsync-$CLUSTER_ID"

# Of the network for benchmarks between devices (RFC 2544), which nobody routes: 128 places, each with a subnet for the
# pair, one for pods and one for services.
make_network() {
  # Held on a folder that always exists: from the choice of a place until the routes are there.
  exec 8</run
  flock -w 60 8 || fail 'could not lock /run'
  choose_place || fail 'no free subnet for a cluster in 198.18.0.0/15: see "ip route show table all"'
  ip netns add "$cluster_name"
  ip link add "$link" type veth peer name node0 netns "$cluster_name"
  ip address add "$host_address/30" dev "$link"
  ip link set "$link" up
  ip -n "$cluster_name" address add "$node_address/30" dev node0
  ip -n "$cluster_name" link set lo up
  ip -n "$cluster_name" link set node0 up
  ip -n "$cluster_name" route add default via "$host_address"
  ip route add "$pods" via "$node_address"
  ip route add "$services" via "$node_address"
  exec 8<&-
  nsenter --net="/run/netns/$cluster_name" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

# Idempotent. The routes go with the interface.
remove_network() {
  ip link delete "$link" 2>/dev/null || true
  ip netns delete "$cluster_name" 2>/dev/null || true
}

# choose_place: sets host_address, node_address, pods, services, first_service_address
choose_place() {
  local start try place
  start=$((16#$(key_of "$CLUSTER_ID" | cut -c1-4) % 128))
  for try in {0..127}; do
    place=$(((start + try) % 128))
    pods="198.18.$((place * 2)).0/24"
    services="198.18.$((place * 2 + 1)).0/24"
    if is_free "$pods" && is_free "$services" && is_free "198.19.$place.0/30"; then
      host_address="198.19.$place.1"
      node_address="198.19.$place.2"
      first_service_address="198.18.$((place * 2 + 1)).1"
      return
    fi
  done
  return 1
}

# is_free PREFIX: no route but the default one leads there, or into a part of it
is_free() {
  ! {
    ip -o -4 route show table all root "$1"
    ip -o -4 route show table all match "$1"
  } | grep -qv '^default '
}
