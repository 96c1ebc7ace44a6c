#!/bin/bash
# What launch/package and the recipes say: refusals, one version, all files
# that make install brings, all libraries that set-up installs.
# tests/package.sh builds and runs the packages.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

package=$srcdir/launch/package
recipes=$srcdir/launch/package.d

# refused TEXT ARGUMENT...: status 1, TEXT in one line.
refused() {
    local text=$1 rc=0
    shift
    "$package" "$@" >out 2>&1 || rc=$?
    [ "$rc" -eq 1 ] || fail "launch/package $*: status $rc"
    grep -qF -- "$text" out || fail "launch/package $*: $(cat out)"
    [ "$(wc -l <out)" -eq 1 ] || fail "launch/package $*: $(cat out)"
}

refused "which package? 'deb' is the only one"
refused "unknown package 'rpm'" rpm
refused "unknown option '--sourse'" deb --sourse
refused "--jobs=0: a number from 1 to 9999 is needed" deb --jobs=0
refused "--jobs=2x: a number from 1 to 9999 is needed" deb --jobs=2x
refused "make supports no space" deb --output='a b'
mkdir mine
echo precious >mine/file
refused "mine: is not empty, and holds no package" deb --output=mine
[ "$(cat mine/file)" = precious ] || fail "what was there is gone"
refused "mine/file: is there already, and is no directory" \
    deb --output=mine/file
"$package" --help >out || fail "--help: $?"
grep -q '^Usage: launch/package deb' out || fail "--help: $(cat out)"

# One version.  The package of Debian and Guix read configure.ac.
version=$("$program" --version | sed -n 's/^mtlm-dag //p')
[ -n "$version" ] || fail "no version: $("$program" --version)"
recipe=$recipes/spack_repo/mtlm_dag/packages/mtlm_dag/package.py
grep -qF "version(\"$version\")" "$recipe" || fail "$recipe is not of $version"
# shellcheck disable=SC2016 # sourced there
read_version='ROOT=$1; . "$1/launch/package.d/deb.sh"; echo "$VERSION"'
[ "$(bash -c "$read_version" - "$srcdir")" = "$version" ] \
    || fail "launch/package does not know version $version"

# parts SCRIPT: runs it with the parts of launch/package.
parts() {
    bash -euc 'PROGRAM=package ROOT=$1 LAUNCH=$1/launch CACHE=$PWD/cache
        OUTPUT=$PWD/made JOBS=1
        for part in setup.d/common setup.d/starpu setup.d/source package.d/deb; do
            . "$LAUNCH/$part.sh"
        done
        autogen() { :; }
        deb_configure() { :; }
        make() { : >"$2/mtlm-dag-$VERSION.tar.xz"; }
        '"$1" - "$srcdir" >out 2>&1
}
# The source is fetched behind the lock of set-up, which is free again then.
mkdir -p made cache/log cache/package
parts 'starpu_source() {
        ! flock -n "$CACHE/starpu.lock" true || die "no lock"
    }
    deb_dist() {
        flock -n "$CACHE/starpu.lock" true || die "still locked"
        say free
        exit 0
    }
    deb_source' && grep -qx free out || fail "the lock: $(cat out)"
# The log is in the directory of the packages: another call has another log.
parts 'starpu_source() {
        say "$1"
        exit 0
    }
    deb_source' && grep -qxF "$dir/made/mtlm-dag_$version.log" out \
    || fail "the log: $(cat out)"
parts deb_open_output && [ -z "$(ls -A made)" ] \
    || fail "a directory with a log alone: $(cat out; ls -A made)"
# A second call at the same time has a directory of its own for make dist.
echo theirs >cache/package/file
parts 'deb_dist log' || fail "make dist: $(cat out)"
[ -e "made/mtlm-dag_$version.orig.tar.xz" ] && [ -e cache/package/file ] \
    || fail "make dist beside another: $(cat out)"
# Nothing of it stays, also when it fails.
parts 'make() { false; }; deb_dist log' && fail "no make dist: $(cat out)"
compgen -G 'cache/package.*' >left && fail "left behind: $(cat left)"
# The directory is locked before files go, and until the end.
: >"made/mtlm-dag_$version.orig.tar.xz"
parts 'flock() {
        [ -e "$OUTPUT/mtlm-dag_$VERSION.orig.tar.xz" ] || die "no longer there"
        command flock "$@"
    }
    deb_open_output
    [ ! -e "$OUTPUT/mtlm-dag_$VERSION.orig.tar.xz" ] || die "still there"
    ! command flock -n "$OUTPUT" true || die "no lock"' \
    && [ ! -s out ] && flock -n made true || fail "the directory: $(cat out)"
# A file system without locks does for one call.
parts 'flock() { return 71; }; deb_open_output' \
    && grep -qxF "package: warning: $dir/made is on a file system without locks: start no second launch/package there" out \
    || fail "a directory without locks: $(cat out)"

# Each library that launch/setup installs is a build dependency.
(
    . "$srcdir/launch/setup.d/packages.sh" || exit
    for name in $PACKAGES_BUILD; do
        case $name in
        lib*-dev | openmpi-bin | fxt-tools)
            echo "$name" >>libraries
            grep -q "^.* ${name}[, ]\|^.* ${name}\$" "$recipes/debian/control" \
                || echo "$name"
            ;;
        esac
    done
) >out || fail "the packages of launch/setup: $?"
[ "$(grep -c . libraries)" -ge 5 ] || fail "launch/setup installs too few"
[ ! -s out ] || fail "debian/control lacks $(cat out)"

# Each installed file is in one package, and each line brings something.
make -s -C "$builddir" install DESTDIR="$dir/at" prefix=/usr \
    libdir=/usr/lib/triplet >log 2>&1 || fail "make install: $(tail -n 5 log)"
cat "$recipes"/debian/*.install | grep -v '/mtlm-dag/starpu/' >lines
while read -r file; do
    # Packages bring a StarPU of their own, and none for SimGrid.
    case ${file##*/} in
    mtlm-dag-sim | libstarpu-1.4.so.*) continue ;;
    esac
    found=0
    while read -r line; do
        # shellcheck disable=SC2254 # a pattern
        case $file in
        $line | $line/*) found=$((found + 1)) ;;
        esac
    done <lines
    [ "$found" -eq 1 ] || fail "$file is in $found packages"
done < <(cd at && find . -type f -printf '%P\n')
while read -r line; do
    (cd at && compgen -G "$line" >/dev/null) || fail "no file is $line"
done <lines

# The recipes parse.
"$PYTHON" - "$recipes"/spack_repo/mtlm_dag/packages/*/package.py <<'END' \
    || fail "a recipe of Spack"
import ast
import sys

for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        ast.parse(file.read(), name)
END
if command -v guile >/dev/null; then
    guile -c '(use-modules (ice-9 rdelim))
        (call-with-input-file (cadr (command-line))
          (lambda (port)
            (let next ((form (read port)))
              (unless (eof-object? form) (next (read port))))))' \
        "$recipes/guix.scm" || fail "the definition for Guix"
fi

finish
