#!/bin/bash
# The Debian packages in fresh systems: one chroot builds them from the source
# package, without a network; another has neither compiler nor source tree,
# installs them, trains, and is clean again after a purge.
#
# Usage: tests/package.sh [DIR]    as root; make check-package calls it
#
# DIR keeps packages and chroots.  Takes about 20 minutes on two cores.
set -eu

PROGRAM=check-package
ROOT=$(cd "$(dirname "$0")/.." && pwd)
LAUNCH=$ROOT/launch
. "$LAUNCH/setup.d/common.sh"
. "$LAUNCH/setup.d/packages.sh"
. "$LAUNCH/setup.d/starpu.sh"
. "$LAUNCH/setup.d/source.sh"

[ "$(id -u)" -eq 0 ] || die "chroots need root"
SUITE=bookworm
# A job of seconds, whose log names each iteration.
JOB="mtlm-dag --model gpt-tiny --num-layers 2 --eval-iters 0 --log-interval 1"
JOB="$JOB --log-format megatron"
WORK=${1:-}
if [ -z "$WORK" ]; then
    WORK=$(mktemp -d /var/tmp/mtlm-package.XXXXXX)
    at_end 'rm -rf "$WORK"'
fi
mkdir -p "$WORK"
WORK=$(cd "$WORK" && pwd)
LOG=$WORK/log
: >"$LOG"

# inside SYSTEM COMMAND...: in the chroot, with a /proc and shared memory of
# its own.  NAMESPACES names more of them.
inside() {
    local at=$WORK/$1
    shift
    # shellcheck disable=SC2016,SC2086 # sh expands; words
    unshare --mount ${NAMESPACES:-} sh -euc 'at=$1; shift
        mount -t proc proc "$at/proc"
        mount -t tmpfs tmpfs "$at/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$at/dev/pts"
        exec chroot "$at" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' - "$at" "$@"
}

# in_system SYSTEM SCRIPT: the same for a line of shell.
in_system() {
    inside "$1" bash -euo pipefail -c "$2"
}

# expect SYSTEM PATTERN SCRIPT: the script succeeds, and PATTERN is a line of
# its output.
expect() {
    local out
    say "  $3"
    out=$(in_system "$1" "$3" 2>&1) || die "status $?: $3: $out"
    printf '%s\n' "$out" >>"$LOG"
    grep -qE -- "$2" <<<"$out" || die "no '$2' from: $3: $out"
}

make_systems() {
    local archive
    archive=$(debian_archives | head -n 1)
    [ -n "$archive" ] || die "no Debian archive known: set DEBIAN_MIRROR"
    rm -rf "${WORK:?}/build" "$WORK/run"
    step "debootstrap $SUITE" "$LOG" \
        debootstrap --variant=minbase "$SUITE" "$WORK/run" "$archive"
    step "copying the system" "$LOG" cp -a "$WORK/run" "$WORK/build"
}

build_packages() {
    local in_build="cd /packages && apt-get -q"

    rm -rf "$WORK/source"
    DEBFULLNAME="mtlm-dag test" DEBEMAIL=test@mtlm-dag.example.org \
        "$LAUNCH/package" deb --source --output="$WORK/source"
    mkdir "$WORK/build/packages"
    cp "$WORK/source"/*.dsc "$WORK/source"/*.tar.* "$WORK/build/packages/"
    step "build dependencies" "$LOG" in_system build "apt-get -q update
        $in_build build-dep -y --no-install-recommends ./*.dsc
        apt-get -q install -y --no-install-recommends dpkg-dev lintian"
    NAMESPACES=--net step "building without a network" "$LOG" \
        in_system build "cd /packages && dpkg-source -x ./*.dsc tree &&
            cd tree && dpkg-buildpackage -b -us -uc -j$(jobs_default)"
    step "the same source package again" "$LOG" in_system build \
        "cd /packages/tree && debian/rules clean && dpkg-source -b ."
    step "lintian" "$LOG" in_system build \
        'cd /packages && lintian --allow-root --fail-on error *.dsc *.changes'
}

# What a user does, with neither compiler nor tree.
use_packages() {
    local version book
    version=$(sed -n 's/^AC_INIT(\[mtlm-dag\], \[\([^]]*\)\].*/\1/p' \
        "$ROOT/configure.ac")
    book=$(sed -n '1,400p' "$ROOT/docs/architecture.md")
    mkdir "$WORK/run/packages"
    cp "$WORK/build/packages"/mtlm-dag*.deb "$WORK/run/packages/"
    step "installing" "$LOG" in_system run "apt-get -q update
        apt-get -q install -y --no-install-recommends /packages/mtlm-dag_*.deb
        apt-get -q install -y --no-install-recommends man-db
        useradd -m user"
    ! in_system run 'command -v gcc || command -v make' \
        || die "the fresh system has a compiler"
    printf '%s\n' "$book" >"$WORK/run/home/user/book.txt"

    say "What a user does:"
    expect run "^mtlm-dag $version\$" 'mtlm-dag --version'
    expect run '/usr/lib/mtlm-dag/starpu/lib/libstarpu' \
        'ldd /usr/bin/mtlm-dag && ! ldd /usr/bin/mtlm-dag | grep "not found"'
    expect run '--pipeline-model-parallel-size' 'man mtlm-dag | cat'
    expect run '--tokenizer-type' 'man mtlm-preprocess | cat'
    expect run 'book' \
        'su - user -c "mtlm-preprocess --input book.txt --output-prefix book"'
    expect run 'iteration *3/ *3 ' "su - user -c 'mtlm-run -n 2 $JOB \
        --data-path book --pipeline-model-parallel-size 2 --train-iters 3 \
        --save saved'"
    expect run '^The ' "su - user -c \
        'mtlm-dag --load saved --max-new-tokens 4 --generate \"The \"'"
    # Root, the only user of many a container.
    expect run 'iteration *1/ *1 ' "mtlm-run -n 2 $JOB --mock-data \
        --train-iters 1"
}

# A policy of the user's own, for which mtlm-dag-dev and a compiler are enough.
use_development() {
    step "installing mtlm-dag-dev" "$LOG" in_system run \
        "apt-get -q install -y --no-install-recommends gcc libc6-dev make \
        pkg-config /packages/mtlm-dag-dev_*.deb"
    # shellcheck disable=SC2016 # the chroot expands
    expect run 'policies.so' 'cp -r $(pkg-config --variable=policiesdir mtlm-dag) \
        /mine && make -C /mine && ls /mine/policies.so'
    expect run 'iteration *1/ *1 ' "STARPU_SCHED_LIB=/mine/policies.so \
        STARPU_SCHED=smallest $JOB --mock-data --train-iters 1"
    expect run 'smallest' 'mtlm-compare --policies prio,smallest=/mine/policies.so \
        --rounds 1 -- --model gpt-tiny --num-layers 2 --train-iters 5'
    step "purging" "$LOG" in_system run \
        'apt-get -q purge -y mtlm-dag mtlm-dag-dev'
    expect run '^nothing left$' \
        '! find /usr -path "*mtlm*" | grep . && echo nothing left'
}

say "Fresh systems:"
packages_install debootstrap
make_systems
build_packages
use_packages
use_development
say "all as expected"
