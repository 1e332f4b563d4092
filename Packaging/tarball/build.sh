# Sourced by scripts/package: writes the tarball, whose install.sh verifies SHA256SUMS before it writes anything.

tarball() {
    local name folder
    name=imgcache-$version${suffix:+.dev$suffix}-linux-$(uname -m)
    folder=$work/tarball/$name
    mkdir -p "$folder/share/doc/imgcache"
    cp -a "$work/stage/." "$folder"
    cp LICENSE CHANGELOG.md scripts/dist/imgcache-server.service "$folder/share/doc/imgcache"
    (cd "$folder" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum) >"$work/tarball/sums"
    mv "$work/tarball/sums" "$folder/SHA256SUMS"
    install -m 755 Packaging/tarball/install.sh "$folder/install.sh"
    tar -C "$work/tarball" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX -cf - "$name" | gzip -9n >"$output/$name.tar.gz"
    echo "$output/$name.tar.gz"
}
tarball
