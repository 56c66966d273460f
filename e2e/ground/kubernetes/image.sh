#!/usr/bin/env bash
# Builds the container image of this checkout, where that has not been done, and prints its name, which is new whenever
# what it is made of is new.
#   IMAGE_BUILDER=docker|archive   from the Dockerfile, or by hand (default: docker where Docker answers and has, or can
#                                  pull, the base image)
#   BASE_IMAGE=...                 for Docker; default node:24-slim
set -euo pipefail
# shellcheck source=image-parts.sh
. "$(dirname "${BASH_SOURCE[0]}")/image-parts.sh"

main() {
  local builder image
  mkdir -p "$cache"
  exec 7>"$cache/image.lock"
  flock 7
  builder="$(image_builder)"
  image="$(image_name "$builder")"
  "build_by_$builder" "$image"
  echo "$image"
}

image_builder() {
  local base="${BASE_IMAGE:-node:24-slim}" builder="${IMAGE_BUILDER:-}"
  if [ -z "$builder" ]; then
    builder=archive
    if docker_answers; then
      if docker image inspect "$base" >/dev/null 2>&1 || timeout 300 docker pull --quiet "$base" >/dev/null 2>&1; then
        builder=docker
      else
        say "Docker cannot pull $base: building the image by hand (or set BASE_IMAGE)"
      fi
    fi
  fi
  case "$builder" in
    docker | archive) echo "$builder" ;;
    *) fail "IMAGE_BUILDER must be docker or archive, not '$builder'" ;;
  esac
}

build_by_docker() {
  ! docker image inspect "$1" >/dev/null 2>&1 || return 0
  say "building $1 with Docker"
  docker build --tag "$1" ${BASE_IMAGE:+--build-arg "BASE_IMAGE=$BASE_IMAGE"} "$checkout" >&2 9>&- ||
    fail 'docker build failed (IMAGE_BUILDER=archive builds without it)'
}

# Layer upon layer, the ones that seldom change first.
build_by_archive() {
  provide_layer "$(base_layer)" fill_base_layer
  provide_layer "$(modules_layer)" fill_modules_layer
  provide_layer "$(program_layer "$1")" fill_program_layer
}

# provide_layer FILE COMMAND: where there is no such layer, COMMAND fills a folder with what goes into it
provide_layer() {
  [ ! -e "$1" ] || return 0
  say "building the image's layer $(basename "$1")"
  (
    work="$(mktemp -d "$cache/.layer.XXXXXX")"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM HUP
    mkdir "$work/root"
    "$2" "$work/root"
    archive_layer "$work/root" "$work/layer"
    mv "$work/layer.sha256" "$1.sha256"
    mv "$work/layer" "$1"
  )
}

# Node.js, the libraries that it needs, certificates, and the names of two users.
fill_base_layer() {
  local library
  mkdir -p "$1"/{etc/ssl/certs,proc,sys,dev,usr/local/bin,usr/lib,usr/lib64}
  mkdir -m 1777 "$1/tmp"
  ln -s usr/lib "$1/lib"
  ln -s usr/lib64 "$1/lib64"
  cp "$(node_binary)" "$1/usr/local/bin/node"
  node_libraries | while read -r library; do
    mkdir -p "$1$(dirname "$library")"
    cp --dereference "$library" "$1$library"
  done
  cp --dereference "$certificates" "$1$certificates"
  printf 'root:x:0:0::/:/sbin/nologin\nnode:x:1000:1000::/tmp:/sbin/nologin\n' >"$1/etc/passwd"
  printf 'root:x:0:\nnode:x:1000:\n' >"$1/etc/group"
  printf 'hosts: files dns\n' >"$1/etc/nsswitch.conf"
}

fill_modules_layer() {
  mkdir "$1/app"
  cp "$checkout"/{package.json,package-lock.json,.npmrc} "$1/app/"
  (cd "$1/app" && npm ci --silent --ignore-scripts --omit=dev >&2)
  rm "$1"/app/{package-lock.json,.npmrc,package.json}
}

fill_program_layer() {
  (cd "$checkout" && npm run --silent build >&2)
  mkdir "$1/app"
  cp -r "$checkout"/{package.json,dist} "$1/app/"
}

main
