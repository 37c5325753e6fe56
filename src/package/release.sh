#!/bin/sh
# Writes all packages and their SHA-256 to DIRECTORY: release.sh DIRECTORY FLAGS-OF-BUN-BUILD…  The same sources give the same bytes.
set -eu

output=$1
shift
here=$(dirname "$0")
root=$(cd "$here/../.." && pwd)
bun=$root/node_modules/.bin/bun
runtimes=$here/runtimes/node_modules/@oven
version=$("$here/version.sh")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$("$here/version.sh" --epoch)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

rm -rf "$output"
mkdir -p "$output"
"$here/completion.sh" "$work/share"
"$bun" "$here/man-page.ts" "$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)" >"$work/bookreel.1"
"$bun" "$root/src/main.ts" licenses >"$work/licenses.txt"

while read -r name target runtime arch; do
  # The name of the file becomes a part of the executable, its directory does not.
  executable=$work/$name/bookreel
  mkdir -p "$work/$name"
  # shellcheck disable=SC2086
  (cd "$root" && "$bun" build "$@" --target="bun-linux-$target" ${runtime:+--compile-executable-path="$runtimes/$runtime/bin/bun"} \
    src/main.ts --outfile "$executable")
  tree=$work/bookreel-$version-linux-$name
  mkdir -p "$tree/completion"
  cp "$executable" "$root/LICENSE" "$root/CHANGELOG.md" "$work/bookreel.1" "$work/licenses.txt" "$here/bookreel.service" \
    "$here/bookreel-recorder.service" "$here/bookreel-backup.service" "$here/bookreel-backup-failed.service" "$here/bookreel-backup.timer" \
    "$here/bookreel-seal.service" "$here/bookreel-seal.timer" "$here/bookreel.toml" \
    "$root/src/monitoring/alerts.yml" "$root/src/monitoring/dashboard.json" "$tree"
  cp "$work/share/bash-completion/completions/bookreel" "$tree/completion/bookreel.bash"
  cp "$work/share/zsh/vendor-completions/_bookreel" "$work/share/fish/vendor_completions.d/bookreel.fish" "$tree/completion"
  tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar -cf - "${tree##*/}" |
    gzip -6n >"$output/${tree##*/}.tar.gz"
  # The Debian packages: for all x64 processors, and for arm64.
  [ "$name" = x64 ] || "$here/deb.sh" "$executable" "$arch" "$output"
done <<TARGETS
x64 x64
x64-baseline x64-baseline bun-linux-x64-baseline amd64
arm64 arm64 bun-linux-aarch64 arm64
TARGETS

(cd "$output" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
cat "$output/SHA256SUMS"
