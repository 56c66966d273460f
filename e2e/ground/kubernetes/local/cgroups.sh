# shellcheck shell=bash
# Sourced, after cluster.sh. The control group that holds all pods of this cluster, in every hierarchy.

cgroups=/sys/fs/cgroup

make_cgroups() {
  local folder controller controllers
  if [ -e "$cgroups/cgroup.controllers" ]; then
    read -ra controllers <"$cgroups/cgroup.controllers"
    for controller in "${controllers[@]}"; do
      echo "+$controller" >"$cgroups/cgroup.subtree_control" ||
        fail "cannot give the control group controller '$controller' to a cluster"
    done
    mkdir -p "$cgroups/$cluster_name"
    return
  fi
  for folder in "$cgroups"/*/; do
    if [ -e "${folder}cgroup.procs" ]; then mkdir -p "$folder$cluster_name"; fi
  done
}

# Idempotent. Its processes have ended.
remove_cgroups() {
  until_true 20 'its control groups can be removed' remove_cgroups_now
}

remove_cgroups_now() {
  local folder left=0
  for folder in "$cgroups/$cluster_name" "$cgroups"/*/"$cluster_name"; do
    [ -d "$folder" ] || continue
    find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true
    [ ! -d "$folder" ] || left=1
  done
  return "$left"
}
