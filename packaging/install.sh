#!/bin/sh
# Installs Postroom @VERSION@ for this user, or removes it. Needs no root.
#
#   install.sh [--prefix DIR] [--from DIR|URL]    install below DIR, by default ~/.local
#   install.sh [--prefix DIR] --uninstall         remove what it installed there
#
# The archive comes from --from, by default from where this script is. It is installed only if its SHA-256 is the one below.
set -eu

version='@VERSION@'
archive='@ARCHIVE@'
sha256='@SHA256@'
from='@FROM@'
prefix="${HOME:+$HOME/.local}"
does=install

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --from)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case $1 in
                --prefix) prefix=$2 ;;
                --from) from=$2 ;;
            esac
            shift
            ;;
        --uninstall) does=uninstall ;;
        --help | -h)
            echo "install.sh [--prefix DIR] [--from DIR|URL] [--uninstall]: Postroom $version, by default in ~/.local"
            exit 0
            ;;
        *) fail "there is no option $1; try --help" ;;
    esac
    shift
done
case $prefix in
    '') fail "HOME is not set; use --prefix DIR" ;;
    /*) ;;
    *) prefix=$(pwd)/$prefix ;;
esac

# One line for each file and each directory that was made: `f` or `d`, and its path, which is below the prefix unless it starts
# with `/`. A line is written before what it names, so that an interrupted installation can be removed too.
list=$prefix/share/doc/postroom/installed

place() {
    case $1 in
        /*) printf '%s\n' "$1" ;;
        *) printf '%s\n' "$prefix/$1" ;;
    esac
}

uninstall() {
    [ -f "$list" ] || fail "nothing is installed in $prefix: there is no $list"
    directories=
    while read -r kind path; do
        case $kind in
            f) rm -f "$(place "$path")" ;;
            # The last one made is the first one removed.
            d) directories="$path
$directories" ;;
        esac
    done <"$list"
    rm -f "$list"
    printf '%s' "$directories" | while IFS= read -r path; do
        rmdir "$(place "$path")" 2>/dev/null || : # somebody else uses it
    done
    echo "removed postroom from $prefix"
    echo "Mail and settings stay (~/.local/state/postroom, ~/.config/postroom)."
}

fetch() {
    case $from in
        http://* | https://*)
            if command -v curl >/dev/null 2>&1; then
                curl -fsSL -o "$1" "${from%/}/$archive"
            elif command -v wget >/dev/null 2>&1; then
                wget -q -O "$1" "${from%/}/$archive"
            else
                fail "neither curl nor wget is installed"
            fi
            ;;
        *)
            [ -f "$from/$archive" ] || fail "there is no $archive in $from; --from says where it is"
            cp "$from/$archive" "$1"
            ;;
    esac
}

digest() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum <"$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 <"$1"
    else
        fail "neither sha256sum nor shasum is installed, so the archive cannot be checked"
    fi
}

# Makes the directory `$1` and those above it, each noted first. What comes before the list itself exists is kept in `$waiting`.
make_directory() {
    [ ! -d "$(place "$1")" ] || return 0
    case $1 in
        ?*/*) make_directory "${1%/*}" ;;
    esac
    [ ! -d "$(place "$1")" ] || return 0
    note "d $1"
    mkdir "$(place "$1")"
}

waiting=
note() {
    if [ -f "$list" ]; then
        printf '%s\n' "$1" >>"$list"
    else
        waiting="$waiting$1
"
    fi
}

install() {
    [ "$(uname -s) $(uname -m)" = 'Linux x86_64' ] ||
        fail "this is a binary for Linux on x86_64; elsewhere build postroom from its source with cargo"
    if [ -z "$from" ]; then
        case $0 in
            */install.sh) from=${0%/*} ;;
            *) from=. ;;
        esac
    fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 1' HUP INT TERM
    fetch "$scratch/$archive" || fail "cannot fetch $archive from $from"
    found=$(digest "$scratch/$archive")
    [ "${found%% *}" = "$sha256" ] ||
        fail "$archive is not the one that belongs to this script: its SHA-256 is ${found%% *}, not $sha256"
    tar -xzf "$scratch/$archive" -C "$scratch"
    top=${archive%.tar.gz}
    tar -tzf "$scratch/$archive" | sed -n "s|^$top/\(.*[^/]\)\$|\1|p" >"$scratch/files"
    : >"$scratch/before"
    [ ! -f "$list" ] || cp "$list" "$scratch/before"

    while IFS= read -r path; do
        if [ -e "$prefix/$path" ] || [ -L "$prefix/$path" ]; then
            grep -qxF "f $path" "$scratch/before" ||
                fail "$prefix/$path is there and is not of an earlier installation; move it away first"
        fi
    done <"$scratch/files"

    # The prefix itself may be new too.
    make_directory "$prefix"
    make_directory share/doc/postroom
    printf '%s' "$waiting" >>"$list"
    while IFS= read -r path; do
        make_directory "${path%/*}"
        grep -qxF "f $path" "$list" || note "f $path"
        # Renamed into its place: a running postroom keeps its file, and nobody starts half a binary.
        cp "$scratch/$top/$path" "$prefix/$path.new"
        mv -f "$prefix/$path.new" "$prefix/$path"
    done <"$scratch/files"

    # What the earlier version had and this one has not.
    while read -r kind path; do
        [ "$kind" = f ] || continue
        grep -qxF "$path" "$scratch/files" || rm -f "$prefix/$path"
    done <"$scratch/before"
    {
        grep '^d ' "$list" || :
        sed 's/^/f /' "$scratch/files"
    } >"$list.new"
    mv -f "$list.new" "$list"

    echo "installed postroom $version in $prefix/bin/postroom"
    case ":$PATH:" in
        *":$prefix/bin:"*) echo "See it work: postroom demo" ;;
        *) echo "$prefix/bin is not on your PATH. See it work: $prefix/bin/postroom demo" ;;
    esac
}

$does
