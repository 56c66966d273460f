# shellcheck shell=bash
# Sourced. Container images without a builder: archives as "docker save" writes them.

# archive_layer FOLDER FILE: packs the folder as a layer, the same bytes for the same content; its digest goes to FILE.sha256
archive_layer() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$1" -cf "$2" .
  sha256sum "$2" | cut -d' ' -f1 >"$2.sha256"
}

# image_archive NAME CONFIG LAYER...: writes the archive of an image to standard output. CONFIG is JSON (Entrypoint, ...).
image_archive() {
  local name="$1" config="$2" work layer digest digests=() files=()
  shift 2
  work="$(mktemp -d)"
  for layer; do
    digest="$(cat "$layer.sha256")"
    digests+=("sha256:$digest")
    files+=("$digest.tar")
    ln -s "$(realpath "$layer")" "$work/$digest.tar"
  done
  printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":[%s]}}' \
    "$(architecture)" "$config" "$(quoted "${digests[@]}")" >"$work/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":[%s]}]' \
    "$name" "$(quoted "${files[@]}")" >"$work/manifest.json"
  tar -C "$work" --dereference -cf - manifest.json config.json "${files[@]}"
  rm -rf "$work"
}

# quoted WORD...: the inside of a JSON array of strings
quoted() {
  local text
  printf -v text ',"%s"' "$@"
  echo "${text#,}"
}

# architecture: of this machine, as images name it
architecture() {
  case "$(uname -m)" in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
  esac
}
