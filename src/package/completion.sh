#!/bin/sh
# Writes the completion of bash, zsh and fish below DIRECTORY, as Debian has it below /usr/share: completion.sh DIRECTORY
set -eu

bun=$(dirname "$0")/../../node_modules/.bin/bun
main=$(dirname "$0")/../main.ts
while read -r shell path; do
  mkdir -p "$1/$(dirname "$path")"
  "$bun" "$main" completion "$shell" >"$1/$path"
done <<PATHS
bash bash-completion/completions/bookreel
zsh zsh/vendor-completions/_bookreel
fish fish/vendor_completions.d/bookreel.fish
PATHS
