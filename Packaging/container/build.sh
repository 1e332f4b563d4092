# Sourced by scripts/package: writes an image as an OCI archive, without a container engine: Debian 12's packages of the libraries, extracted
# without their scripts, both programs, and a user of their own. There is no shell in it.

# As IMAGE_MIRROR, a mirror of Debian.
container_packages=(
    base-files libc6 ca-certificates libcurl4 libssl3 libjpeg62-turbo libpng16-16 libwebp7 libwebpdemux2 libwebpmux3
    liblcms2-2 libgif7 libavif15 libheif1 libjxl0.7 libtiff6 libidn2-0 libexpat1
)

container() {
    local root=$work/container/root architecture name
    architecture=$(dpkg --print-architecture)
    name=imgcache-$version${suffix:+.dev$suffix}-linux-$architecture.oci.tar
    mkdir -p "$work/container"
    mmdebstrap --quiet --variant=extract --skip=cleanup/apt/cache --architectures="$architecture" --include="$(
        IFS=,
        echo "${container_packages[*]}"
    )" bookworm "$root" "${IMAGE_MIRROR:-http://deb.debian.org/debian}" >"$work/container/log" 2>&1 || {
        tail -n 20 "$work/container/log" >&2
        fail "mmdebstrap could not extract the packages"
    }
    # There is no dpkg in the image: scanners, and the bills of materials of a release, read its packages here.
    mkdir "$work/container/status.d"
    local file
    for file in "$root"/var/cache/apt/archives/*.deb; do
        dpkg-deb -f "$file" >"$work/container/status.d/$(dpkg-deb -f "$file" Package)"
    done
    # Their scripts have not run: the file of certificates is what ca-certificates would write.
    mkdir -p "$root/etc/ssl/certs"
    (cd "$root/usr/share/ca-certificates" && find . -name '*.crt' -print0 | LC_ALL=C sort -z | xargs -0 cat) \
        >"$root/etc/ssl/certs/ca-certificates.crt"
    rm -rf "$root"/{dev,boot,home,media,mnt,opt,srv,root,run,var} "$root"/usr/share/{man,locale,lintian,bug,info,ca-certificates,common-licenses} \
        "$root"/usr/{sbin,games,include,src,local} "$root"/{bin,sbin} "$root/usr/bin" "$root"/etc/{apt,cron*,default,logrotate.d,init.d}
    # The licences stay.
    find "$root/usr/share/doc" -type f ! -name copyright -delete
    find "$root/usr/share/doc" -type d -empty -delete
    mkdir -p "$root"/{dev,proc,sys,run,tmp,var/cache/imgcache,usr/bin}
    mkdir -p "$root/var/lib/dpkg"
    mv "$work/container/status.d" "$root/var/lib/dpkg"
    chmod 1777 "$root/tmp"
    chmod 700 "$root/var/cache/imgcache"
    printf 'root:x:0:0:root:/:/nonexistent\nimgcache:x:10001:10001:imgcache:/var/cache/imgcache:/nonexistent\n' >"$root/etc/passwd"
    printf 'root:x:0:\nimgcache:x:10001:\n' >"$root/etc/group"
    printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"
    install -m 755 "$work/stage/bin/imgcache" "$work/stage/bin/imgcache-server" "$root/usr/bin/"
    mkdir -p "$root/usr/share/doc/imgcache"
    install -m 644 LICENSE CHANGELOG.md "$root/usr/share/doc/imgcache"
    python3 Packaging/container/write-image.py "$root" "$output/$name" --version "$version${suffix:+.dev$suffix}" \
        --architecture "$architecture" --time "$SOURCE_DATE_EPOCH"
    echo "$output/$name"
}
container
