#!/bin/sh
# Makes a temporary folder under $1, prints its path, and waits for the end of its standard input, which comes when the
# process at the other end closes it or dies, by whatever signal. Then it kills every process that was started for the
# folder (an entry of pids/, named after the process id) and removes the folder.
set -u
# PIPE: when it says the path, nobody may be left to hear it.
trap '' INT HUP TERM PIPE

folder="$(mktemp -d "$1/clustersync-$(id -u)-XXXXXXXX")" || exit 1
mkdir "$folder/pids" || exit 1
echo "$folder" 2>/dev/null

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
# What is being killed may still write a file, on a busy machine for long.
attempts=300
while [ "$attempts" -gt 0 ]; do
  rm -rf "$gone" 2>/dev/null && [ ! -e "$gone" ] && exit 0
  attempts=$((attempts - 1))
  sleep 0.2
done
exit 1
