#!/bin/sh
# Prints the version of package.json; with --epoch its date in CHANGELOG.md as Unix seconds.
set -eu

root=$(dirname "$0")/../..
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$root/package.json")
if [ "${1:-}" = --epoch ]; then
  date=$(sed -n "s/^## \[$version\] - //p" "$root/CHANGELOG.md")
  [ -n "$date" ] || { echo "CHANGELOG.md has no date of version $version" >&2; exit 1; }
  date -u -d "$date" +%s
else
  echo "$version"
fi
