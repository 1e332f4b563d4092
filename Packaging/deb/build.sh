# Sourced by scripts/package: writes the Debian packages imgcache and imgcache-server.

deb_version=$version${suffix:+~git$suffix}-1
deb_architecture=$(dpkg --print-architecture)
deb_maintainer="The imgcache maintainers <maintainers@imgcache.invalid>"

# Prints the packages of the libraries that a program opens when it needs them, by the file names in it. The names with t64 are those of
# Debian 13 and Ubuntu 24.04.
deb_opened_libraries() {
    local library
    grep -aoE 'lib[a-z0-9]+\.so\.[0-9]+(\.[0-9]+)?' "$1" | sort -u | while read -r library; do
        case "$library" in
        libexpat.so.1) echo libexpat1 ;;
        libjpeg.so.62) echo libjpeg62-turbo ;;
        libjpeg.so.8) echo libjpeg-turbo8 ;;
        libpng16.so.16) echo "libpng16-16t64 | libpng16-16" ;;
        libwebp.so.7) echo libwebp7 ;;
        libwebpdemux.so.2) echo libwebpdemux2 ;;
        libwebpmux.so.3) echo libwebpmux3 ;;
        liblcms2.so.2) echo liblcms2-2 ;;
        libgif.so.7) echo libgif7 ;;
        libavif.so.15) echo libavif15 ;;
        libavif.so.16) echo libavif16 ;;
        libheif.so.1) echo libheif1 ;;
        libde265.so.0) echo libde265-0 ;;
        libjxl.so.0.7) echo "libjxl0.7 | libjxl0.8 | libjxl0.9 | libjxl0.10 | libjxl0.11" ;;
        libtiff.so.6) echo "libtiff6 | libtiff5" ;;
        libidn2.so.0) echo libidn2-0 ;;
        esac
    done | paste -sd , | sed 's/,/, /g'
}

# The libraries that a program is linked with, as dpkg-shlibdeps finds them.
deb_linked_libraries() {
    mkdir -p "$work/deb/shlibdeps/debian"
    : >"$work/deb/shlibdeps/debian/control"
    (cd "$work/deb/shlibdeps" && dpkg-shlibdeps -O "$1" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}

# Writes the package in $work/deb/NAME: deb_write NAME FURTHER-DEPENDS, with further fields on standard input.
deb_write() {
    local name=$1 root=$work/deb/$1 doc=$work/deb/$1/usr/share/doc/$1 file
    mkdir -p "$doc" "$root/usr/share/lintian/overrides" "$root/DEBIAN"
    install -m 644 Packaging/deb/copyright "$doc/copyright"
    printf 'imgcache (%s) unstable; urgency=medium\n\n  * Release %s; see changelog.gz.\n\n -- %s  %s\n' "$deb_version" "$version" \
        "$deb_maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.Debian.gz"
    gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
    sed "s/@PACKAGE@/$name/" Packaging/deb/lintian-overrides >"$root/usr/share/lintian/overrides/$name"
    find "$root/usr/share/man" -type f -exec gzip -9n {} +
    {
        echo "Package: $name"
        echo "Source: imgcache"
        echo "Version: $deb_version"
        echo "Architecture: $deb_architecture"
        echo "Maintainer: $deb_maintainer"
        echo "Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f 1)"
        echo "Section: web"
        echo "Priority: optional"
        echo "Homepage: https://github.com/imgcache/imgcache"
        echo "Depends: $(deb_linked_libraries "$root/usr/bin/$name"), libcurl4t64 (>= 7.81) | libcurl4 (>= 7.81)," \
            "libssl3t64 | libssl3, ca-certificates$2"
        echo "Recommends: $(deb_opened_libraries "$root/usr/bin/$name")"
        cat
    } >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    chmod -R u=rwX,go=rX "$root"
    # Clamps the times of all files to SOURCE_DATE_EPOCH, and sorts them.
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    file=$output/${name}_${deb_version}_$deb_architecture.deb
    dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$file" >/dev/null
    echo "$file"
}

deb() {
    local root stage=$work/stage

    root=$work/deb/imgcache
    install -D -m 755 "$stage/bin/imgcache" "$root/usr/bin/imgcache"
    install -D -m 644 "$stage/share/man/man1/imgcache.1" "$root/usr/share/man/man1/imgcache.1"
    # The file is sourced: it needs no interpreter.
    mkdir -p "$root/usr/share/bash-completion/completions"
    sed '1{/^#!/d}' "$stage/share/bash-completion/completions/imgcache" >"$root/usr/share/bash-completion/completions/imgcache"
    install -D -m 644 "$stage/share/zsh/site-functions/_imgcache" "$root/usr/share/zsh/vendor-completions/_imgcache"
    install -D -m 644 "$stage/share/fish/vendor_completions.d/imgcache.fish" \
        "$root/usr/share/fish/vendor_completions.d/imgcache.fish"
    deb_write imgcache "" <<'FIELDS'
Suggests: imgcache-server
Description: resumable downloads with a cache, and thumbnails
 imgcache downloads files, resumes them after a cut or a kill, and never mixes
 two versions of a file. Complete files are cached on disk by the rules of
 HTTP, and processes share them. It verifies checksums, downloads lists in
 parallel, and makes thumbnails of images, also of AVIF, HEIC, JPEG XL and TIFF.
FIELDS

    root=$work/deb/imgcache-server
    install -D -m 755 "$stage/bin/imgcache-server" "$root/usr/bin/imgcache-server"
    install -D -m 644 "$stage/share/man/man8/imgcache-server.8" "$root/usr/share/man/man8/imgcache-server.8"
    install -D -m 644 "$stage/share/bash-completion/completions/imgcache-server" \
        "$root/usr/share/bash-completion/completions/imgcache-server"
    install -D -m 644 "$stage/share/zsh/site-functions/_imgcache-server" "$root/usr/share/zsh/vendor-completions/_imgcache-server"
    install -D -m 644 "$stage/share/fish/vendor_completions.d/imgcache-server.fish" \
        "$root/usr/share/fish/vendor_completions.d/imgcache-server.fish"
    install -D -m 644 Packaging/deb/imgcache.json "$root/etc/imgcache/imgcache.json"
    # The package has its programs in /usr/bin and a user of its own.
    mkdir -p "$root/usr/lib/systemd/system" "$root/DEBIAN"
    sed -e '/^# systemd unit/,/^$/d' -e 's,/usr/local/bin/,/usr/bin/,' \
        -e 's/^# A user that exists while the service runs; the/# The/' -e 's/^DynamicUser=yes$/User=imgcache\nGroup=imgcache/' \
        -e 's, (scripts/dist/fleet/fleet.env),,' \
        scripts/dist/imgcache-server.service >"$root/usr/lib/systemd/system/imgcache-server.service"
    echo /etc/imgcache/imgcache.json >"$root/DEBIAN/conffiles"
    install -m 755 Packaging/deb/postinst Packaging/deb/prerm Packaging/deb/postrm "$root/DEBIAN"
    deb_write imgcache-server ", adduser, init-system-helpers (>= 1.52)" <<'FIELDS'
Suggests: imgcache
Description: caching image proxy and thumbnail service
 imgcache-server puts a cache in front of one or several web servers or
 buckets. It derives images by URL in the sizes and formats that clients ask
 for, and decodes them in sandboxed processes.
 .
 The service starts when it is enabled: enter the origin in
 /etc/imgcache/imgcache.json, and run: systemctl enable --now imgcache-server
FIELDS
}
deb
