#!/bin/sh
# Installs imgcache and imgcache-server from the folder of this script, with manual pages and completions:
#   ./install.sh [--prefix DIR]                default: /usr/local
#   ./install.sh uninstall [--prefix DIR]      removes the same files, and folders that are empty then; the cache is kept
# All files are verified against SHA256SUMS before anything is written.
set -eu

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

prefix=/usr/local
action=install
while [ $# -gt 0 ]; do
    case "$1" in
    install | uninstall) action=$1 ;;
    --prefix=*) prefix=${1#--prefix=} ;;
    --prefix)
        [ $# -gt 1 ] || fail "--prefix needs a folder"
        prefix=$2
        shift
        ;;
    -h | --help)
        sed -n '2,5s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) fail "unknown argument $1; usage: install.sh [uninstall] [--prefix DIR]" ;;
    esac
    shift
done
[ -n "$prefix" ] || fail "--prefix needs a folder"
hint="try as root, or another --prefix"
case "$prefix" in /*) ;; *) prefix=$PWD/$prefix ;; esac

cd "$(dirname "$0")"
[ -r SHA256SUMS ] || fail "SHA256SUMS is missing; unpack the archive again"
files=$(sed 's/^[0-9a-f]*  //' SHA256SUMS)

if [ "$action" = uninstall ]; then
    for file in $files; do
        [ -e "$prefix/$file" ] || continue
        rm -f "$prefix/$file" || fail "cannot remove $prefix/$file; $hint"
        echo "removed $prefix/$file"
        (cd "$prefix" && rmdir -p "$(dirname "$file")" 2>/dev/null) || true
    done
    exit 0
fi

sha256sum --quiet --strict -c SHA256SUMS >&2 || fail "the files are not those of the release; nothing was written"
for file in $files; do
    target=$prefix/$file
    mkdir -p "$(dirname "$target")" || fail "cannot create $(dirname "$target"); $hint"
    # Renamed into place, because the old program may be running.
    # It belongs to the user who installs it, whoever unpacked the archive.
    mode=644
    [ ! -x "$file" ] || mode=755
    if ! install -m "$mode" "$file" "$target.new" || ! mv -f "$target.new" "$target"; then
        rm -f "$target.new"
        fail "cannot write $target; $hint"
    fi
    echo "$target"
done
