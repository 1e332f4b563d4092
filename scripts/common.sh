# Sourced by the scripts beside it: finds Swift and installs missing system packages.

# Prints an error and ends the script.
fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Puts the folder of a Swift toolchain first on PATH. Other packages contain a command named `swift` as well
# (python3-swiftclient), which would hide it.
use_swift() {
    local candidate folder
    while read -r candidate; do
        folder=$(dirname "$(readlink -f "$candidate")")
        if [ -x "$folder/swiftc" ]; then
            # A launcher such as swiftly's must be called by its own name: keep the folder it was found in.
            [ -x "$(dirname "$candidate")/swiftc" ] && folder=$(dirname "$candidate")
            export PATH="$folder:$PATH"
            return
        fi
    done < <(
        type -ap swift || true # it may be on no PATH at all
        printf '%s\n' "${SWIFTLY_BIN_DIR:-${HOME:-/root}/.local/share/swiftly/bin}/swift" /opt/swift/usr/bin/swift \
            /usr/share/swift/usr/bin/swift /usr/local/swift/usr/bin/swift
    )
    fail "no Swift toolchain found; install Swift 6.2 or later (https://www.swift.org/install/linux) and put it on PATH"
}

# Succeeds if the files needed from a Debian package exist, regardless of their origin.
have() {
    case "$1" in
    libcurl4-openssl-dev) pkg-config --exists libcurl ;;
    libsqlite3-dev) pkg-config --exists sqlite3 ;;
    libxxhash-dev) pkg-config --exists libxxhash ;;
    libssl-dev) pkg-config --exists libcrypto ;;
    libjpeg-dev) pkg-config --exists libjpeg ;;
    libpng-dev) pkg-config --exists libpng ;;
    libwebp-dev) pkg-config --exists libwebp libwebpdemux libwebpmux ;;
    liblcms2-dev) pkg-config --exists lcms2 ;;
    libavif-dev) pkg-config --exists libavif ;;
    libheif-dev) pkg-config --exists libheif ;;
    libde265-dev) pkg-config --exists libde265 ;;
    libjxl0.7) [[ $(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p) == *libjxl.so.0.* ]] ;;
    libtiff-dev) pkg-config --exists libtiff-4 ;;
    libgif-dev) pkg-config --exists libgif || [ -e /usr/include/gif_lib.h ] ;;
    ca-certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] ;;
    binutils) command -v readelf ;;
    dpkg-dev) command -v dpkg-shlibdeps ;;
    aria2) command -v aria2c ;;
    bubblewrap) command -v bwrap ;;
    nodejs) command -v node ;;
    chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
    python3-venv) python3 -c 'import ensurepip, venv' ;;
    libavif-bin) command -v avifdec ;;
    libjpeg-turbo-progs) command -v djpeg && command -v cjpeg ;;
    libvips-tools) command -v vipsthumbnail ;;
    webp) command -v gif2webp ;;
    graphicsmagick) command -v gm ;;
    varnish) PATH="$PATH:/usr/sbin" command -v varnishd ;;
    libnginx-mod-http-image-filter) [ -e /usr/lib/nginx/modules/ngx_http_image_filter_module.so ] ;;
    imagemagick) command -v convert-im6.q16 ;;
    nginx-light) PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v nginx ;;
    apache2-bin) [ -x /usr/sbin/apache2 ] || [ -x /usr/sbin/httpd ] ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# Installs the missing ones of the named Debian packages, or reports them if that is impossible.
need() {
    local package missing=()
    for package in "$@"; do
        have "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null ||
        fail "missing: ${missing[*]} (names of the Debian packages; this is no Debian, install their counterparts)"
    [ "$(id -u)" = 0 ] ||
        fail "missing: ${missing[*]}; run: sudo apt-get install -y --no-install-recommends ${missing[*]}"
    echo "$(basename "$0"): installing ${missing[*]}" >&2
    local install=(apt-get install -qq -y --no-install-recommends "${missing[@]}") said
    said=$(
        exec 2>&1 </dev/null
        export DEBIAN_FRONTEND=noninteractive
        "${install[@]}" >/dev/null 2>&1 || { apt-get update -qq && "${install[@]}"; }
    ) || fail "apt-get could not install ${missing[*]}:"$'\n'"$(tail -n 5 <<<"$said")"
    for package in "${missing[@]}"; do
        have "$package" || fail "$package is installed, but what it is needed for is not found"
    done
}

# The requirements of building the package.
build_packages=(
    pkg-config libcurl4-openssl-dev libsqlite3-dev libxxhash-dev libssl-dev ca-certificates
    libjpeg-dev libpng-dev libwebp-dev liblcms2-dev libgif-dev libavif-dev libheif-dev libde265-dev libtiff-dev
)

# Prints a Python that has the libraries of a requirements file, from PyPI. They are installed again when the file has changed. Fails
# without a word where PyPI cannot be reached.
pinned_python() {
    local environment=$PWD/.build/pinned-python
    if ! cmp -s "$1" "$environment/requirements.txt"; then
        need python3-venv
        mkdir -p .build
        {
            python3 -m venv --clear "$environment" &&
                "$environment/bin/pip" install --quiet --no-deps -r "$1"
        } >"$environment.log" 2>&1 || return 1
        cp "$1" "$environment/requirements.txt"
    fi
    echo "$environment/bin/python"
}
