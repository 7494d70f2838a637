#!/bin/sh
# Makes a tarball of what `make install-files` puts below a root.
#
#     packaging/tarball/make.sh ROOT/PREFIX OUTPUT_DIR
#
# Everything is in one folder that has the name of the tarball. SHA256SUMS is in both: inside for the files, beside the tarball
# for it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
installed=$(cd "$1" && pwd)
output=$2

version=$("$installed/bin/weft" --version | cut -d' ' -f2)
name=weft-$version-$(uname -m)-linux-gnu
rm -rf "${output:?}/$name"
mkdir -p "$output/$name"
cd "$output"
cp -R "$installed/." "$name"
install -m 644 "$here/../../README.md" "$here/../../LICENSE" "$name"
(cd "$name" && find . -type f ! -name SHA256SUMS -print0 | LC_ALL=C sort -z | xargs -0 sha256sum >SHA256SUMS)
tar --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -n "-${DIST_LEVEL:-6}" >"$name.tar.gz"
rm -rf "${output:?}/$name"
sha256sum "$name.tar.gz" >SHA256SUMS
echo "$output/$name.tar.gz"
