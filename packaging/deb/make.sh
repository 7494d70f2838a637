#!/bin/sh
# Makes a Debian package of what `make install-files` puts below a root.
#
#     packaging/deb/make.sh ROOT OUTPUT_DIR
#
# ROOT holds usr/bin/weft and all else; it gets the folder DEBIAN. Needs dpkg-deb; with dpkg-shlibdeps the libraries that the
# programs need are named exactly, without it the C library alone is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$1" && pwd)
mkdir -p "$2"
output=$2

version=$("$root/usr/bin/weft" --version | cut -d' ' -f2)
architecture=$(dpkg --print-architecture)
size_kib=$(du -sk "$root" | cut -f1)

depends=libc6
if command -v dpkg-shlibdeps >/dev/null; then
    # It wants to stand in a source package.
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir "$scratch/debian"
    printf 'Source: weft\n\nPackage: weft\nArchitecture: any\n' >"$scratch/debian/control"
    found=$(cd "$scratch" && dpkg-shlibdeps -O "$root"/usr/bin/* 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
    depends=${found:-$depends}
fi

mkdir -p "$root/DEBIAN" "$root/etc/default" "$root/usr/lib/sysusers.d" "$root/usr/share/doc/weft"
install -m 644 "$here/../systemd/weft.default" "$root/etc/default/weft"
install -m 644 "$here/../systemd/weft.sysusers" "$root/usr/lib/sysusers.d/weft.conf"
install -m 644 "$here/copyright" "$root/usr/share/doc/weft/copyright"
for script in postinst prerm postrm; do
    install -m 755 "$here/$script" "$root/DEBIAN/$script"
done
echo /etc/default/weft >"$root/DEBIAN/conffiles"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size_kib/" -e "s/@DEPENDS@/$depends/" \
    "$here/control" >"$root/DEBIAN/control"

package="$output/weft_${version}_$architecture.deb"
dpkg-deb --root-owner-group -Zxz "-z${DEB_LEVEL:-6}" --build "$root" "$package" >/dev/null
echo "$package"
