#!/bin/sh
# Makes a temporary folder under $1, prints its path, and waits for the end of its standard input, which comes when the
# process at the other end closes it or dies, by whatever signal. Then it kills every process that was started for the
# folder (an entry of pids/, named after the process id) and removes the folder.
set -u
trap '' INT HUP TERM

folder="$(mktemp -d "$1/clustersync-$(id -u)-XXXXXXXX")" || exit 1
mkdir "$folder/pids" || exit 1
echo "$folder"

while read -r _; do :; done

arguments_of() {
  if [ -d /proc/self ]; then
    tr '\0' ' ' <"/proc/$1/cmdline"
  else
    ps -o args= -p "$1"
  fi 2>/dev/null
}

# Renamed first: from here on nothing more can be started for it.
gone="$folder.gone"
mv "$folder" "$gone"
for entry in "$gone"/pids/*; do
  pid="${entry##*/}"
  # A process id may belong to someone else by now.
  case "$(arguments_of "$pid")" in
    *"$folder"*) kill -9 "$pid" ;;
  esac
done
# What is being killed may still write a file.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$gone" 2>/dev/null && [ ! -e "$gone" ] && exit 0
  sleep 0.2
done
exit 1
