#!/bin/sh
# Writes DIRECTORY/bookreel_VERSION_ARCH.deb around an executable: deb.sh EXECUTABLE ARCH DIRECTORY. The same sources give the same
# bytes: all times are SOURCE_DATE_EPOCH. Needs dpkg-deb, and no root.
set -eu

executable=$1 arch=$2 output=$3
here=$(dirname "$0")
root=$(cd "$here/../.." && pwd)
version=$("$here/version.sh")-1
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$("$here/version.sh" --epoch)}
export SOURCE_DATE_EPOCH
bun=$root/node_modules/.bin/bun
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
umask 022
chmod 755 "$tree"

put() { # put MODE FILE TARGET
  install -D -m "$1" "$2" "$tree/$3"
}
put 755 "$executable" usr/bin/bookreel
for unit in bookreel.service bookreel-recorder.service bookreel-backup.service bookreel-backup-failed.service bookreel-backup.timer \
  bookreel-seal.service bookreel-seal.timer; do
  put 644 "$here/$unit" "usr/lib/systemd/system/$unit"
done
put 644 "$here/bookreel.toml" etc/bookreel/bookreel.toml
put 644 "$root/src/monitoring/alerts.yml" usr/share/bookreel/alerts.yml
put 644 "$root/src/monitoring/dashboard.json" usr/share/bookreel/dashboard.json
install -d -m 700 "$tree/etc/bookreel/secrets"
doc=$tree/usr/share/doc/bookreel
mkdir -p "$doc" "$tree/usr/share/man/man1"
"$here/completion.sh" "$tree/usr/share"
"$bun" "$here/man-page.ts" "$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)" | gzip -9n >"$tree/usr/share/man/man1/bookreel.1.gz"
gzip -9nc "$root/CHANGELOG.md" >"$doc/changelog.gz"
"$bun" "$root/src/main.ts" licenses | gzip -9n >"$doc/licenses.gz"
gzip -9n >"$doc/changelog.Debian.gz" <<CHANGES
bookreel ($version) stable; urgency=medium

  * Version $version: see changelog.gz.

 -- $(sed -n 's/^Maintainer: //p' "$here/control")  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
CHANGES
{
  sed '/^@LICENSE@/,$d' "$here/copyright"
  sed -n 's/^Copyright (c) /Copyright: /p' "$root/LICENSE"
  echo 'License: Expat'
  sed '1,/^Copyright/d' "$root/LICENSE" | sed '1d; s/^$/./; s/^/ /'
  sed '1,/^@LICENSE@/d' "$here/copyright"
} >"$doc/copyright"
put 644 "$here/lintian-overrides" usr/share/lintian/overrides/bookreel

install -d "$tree/DEBIAN"
for script in postinst prerm postrm; do put 755 "$here/$script" "DEBIAN/$script"; done
echo /etc/bookreel/bookreel.toml >"$tree/DEBIAN/conffiles"
size=$(du -sk --apparent-size --exclude=DEBIAN "$tree" | cut -f1)
sed "s/@VERSION@/$version/; s/@ARCH@/$arch/; s/@KIB@/$size/" "$here/control" >"$tree/DEBIAN/control"
(cd "$tree" && find usr etc -type f -exec md5sum {} + | LC_ALL=C sort -k2) >"$tree/DEBIAN/md5sums"
chmod 644 "$tree"/DEBIAN/control "$tree"/DEBIAN/conffiles "$tree"/DEBIAN/md5sums
find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

mkdir -p "$output"
# gzip: xz would save 10 % and take ten times as long.
dpkg-deb --root-owner-group -Zgzip -z6 --build "$tree" "$output/bookreel_${version}_$arch.deb"
