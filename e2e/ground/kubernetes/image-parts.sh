# shellcheck shell=bash
# Sourced. What the image is made of, and where its parts are kept.

# shellcheck source=cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
# shellcheck source=image-archive.sh
. "$kubernetes/image-archive.sh"

image_repository=clustersync.local/clustersync
certificates=/etc/ssl/certs/ca-certificates.crt
image_config='{"User":"1000:1000","WorkingDir":"/app","Env":["PATH=/usr/local/bin","NODE_ENV=production","NODE_OPTIONS=--max-semi-space-size=16"],"Entrypoint":["node","--enable-source-maps","/app/dist/bin/clustersync.js"]}'

# image_name BUILDER
image_name() {
  echo "$image_repository:$(image_key "$1" | cut -c1-12)"
}

image_key() {
  local also
  case "$1" in
    docker) also="${BASE_IMAGE:-node:24-slim}" ;;
    archive) also="$(base_layer) $image_config" ;;
  esac
  key_of "$1" "$also" "$(cat "$kubernetes"/image*.sh "$checkout/Dockerfile")" "$(source_digests)"
}

# source_digests: of each file that the programs are built from
source_digests() {
  (
    cd "$checkout" || exit
    # shellcheck disable=SC2046 # names without spaces
    find $(sed -n 's/^!//p' .dockerignore) \
      -type f ! -name '*.test.ts' -print0 | sort -z | xargs -0 sha256sum
  )
}

base_layer() {
  echo "$cache/image-base-$(key_of "$("$(node_binary)" --version)" \
    "$(node_libraries | xargs stat -L -c '%n %s %Y' -- "$certificates")" "$(cat "$kubernetes/image.sh")").tar"
}

modules_layer() {
  echo "$cache/image-modules-$(key_of "$(cat "$checkout/package.json" "$checkout/package-lock.json")").tar"
}

# program_layer IMAGE
program_layer() {
  echo "$cache/image-program-${1##*:}.tar"
}

# archive_of IMAGE: writes an archive of an image that was built by hand to standard output
archive_of() {
  image_archive "$1" "$image_config" "$(base_layer)" "$(modules_layer)" "$(program_layer "$1")"
}

# is_built_by_hand IMAGE
is_built_by_hand() {
  [ -e "$(program_layer "$1")" ]
}

# node_binary: the one that npm has installed, or else the one on PATH
node_binary() {
  local node="$checkout/node_modules/node/bin/node"
  [ -x "$node" ] || node="$(command -v node)" || fail 'Node.js is missing: run "npm ci" first'
  realpath "$node"
}

node_libraries() {
  ldd "$(node_binary)" | grep -oE '/lib[^ ]+'
}
