#!/bin/bash
# The parts of launch/setup, without an installation or a build: where scripts
# find themselves, long steps, sudo, and trees that are configured already.  Also
# what configure refuses.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

launch=$srcdir/launch
unset CFLAGS CUDA_ARCHS CUDA_HOME NVCC http_proxy https_proxy no_proxy

# A user's CDPATH makes cd print where it went.
for name in setup check corpus bundle package quickstart; do
    (cd "$srcdir" && CDPATH=.:.. "launch/$name" --help) >out 2>&1 \
        || fail "launch/$name with CDPATH: $(cat out)"
done

# script_refuses TEXT SCRIPT OPTION...: the script ends with this error alone.  Set-up
# would end at the cache directory at the latest.
script_refuses() {
    local text=$1 name=$2 rc=0
    shift 2
    XDG_CACHE_HOME=here "$launch/$name" "$@" >out 2>&1 || rc=$?
    [ "$rc" -eq 1 ] && [ "$(cat out)" = "$name: $text" ] \
        || fail "launch/$name $*: status $rc, $(cat out)"
}
for jobs in '' 0 abc 2x -1 10000; do
    for name in setup check; do
        script_refuses "--jobs=$jobs: a number from 1 to 9999 is needed" $name \
            --jobs="$jobs"
    done
done
script_refuses '--with-starpu=: a directory is needed' setup --with-starpu=

# Help needs no place for the cache directory.
for name in setup corpus; do
    env -u HOME -u XDG_CACHE_HOME "$launch/$name" --help >out 2>err \
        && [ ! -s err ] && grep -qF "\$XDG_CACHE_HOME/mtlm-dag" out \
        || fail "launch/$name --help without a home: $(cat out err)"
done

# parts SCRIPT: runs it with the parts of launch/setup, in a shell of its own.
parts() {
    bash -euc 'PROGRAM=setup LAUNCH=$1 ROOT=$PWD/tree CACHE=$PWD/cache JOBS=1
        for part in common packages starpu source build peers; do
            . "$LAUNCH/setup.d/$part.sh"
        done
        build_configure() { say configured; }
        make() { say made; }
        pkg-config() { [ -n "${CMOCKA:-}" ]; }
        readelf() { cat "$ROOT/../dynamic"; }
        '"$1" - "$launch" >out 2>err
}

# A step that may fail, and one that must not.
parts 'STEP_MAY_FAIL=yes step words log false; say on' && grep -qx on out \
    || fail "STEP_MAY_FAIL: $(cat out err)"
parts 'STEP_MAY_FAIL=yes step words log true; step words log false; say on' \
    && fail "a step that failed: $(cat out err)"
grep -q '^setup: words failed (exit 1), see log$' err \
    || fail "a step that failed: $(cat out err)"

# The lock of a set-up is free when the step is over: its sign of life sleeps on.
parts 'exec 9>lock; flock 9
    look() { sleep 0.5; [ ! -e "/proc/$TICKER/fd/9" ]; }
    step words log look
    exec 9>&-; flock -n lock true' || fail "the lock: $(cat out err)"

# Who must wait for a lock says so.
mkdir -p cache
parts 'flock() { [ "$1" != -n ]; }; cache_lock a.lock "another one works"; say on' \
    && printf '%s\n' '  another one works: waiting for it ...' on \
    | diff -u - out || fail "a lock of another: $(cat out err)"
# A file system without locks is no other set-up.
parts 'flock() { return 71; }; starpu_find() { false; }
    starpu_build_locked() { die built; }
    starpu_build cpu' && fail "a file system without locks: $(cat out err)"
grep -qx "setup: $dir/cache is on a file system without locks: set XDG_CACHE_HOME to a local directory" \
    err && [ ! -s out ] || fail "a file system without locks: $(cat out err)"

# launch/check holds a lock while it sets up, builds and tests its tree.
mkdir -p checked/launch/setup.d checked/build/tests checked/tests
cp "$launch/check" checked/launch/
cp "$launch/setup.d/common.sh" checked/launch/setup.d/
cp "$srcdir/tests/slowest.sh" checked/tests/
lock=$dir/checked/build/check.lock
printf '#!/bin/sh\n! flock -n %s true\n' "$lock" >checked/launch/setup
chmod +x checked/launch/setup
printf 'check:\n\t! flock -n %s true\n\techo "# PASS: 1" >test-suite.log\n' \
    "$lock" >checked/build/Makefile
# checked_tree: launch/check, all of whose tests pass.
checked_tree() {
    XDG_CACHE_HOME=$dir/at checked/launch/check >out 2>&1 \
        && grep -qx '1 passed, 0 failed, 0 skipped' out \
        || fail "launch/check: $(cat out)"
}
checked_tree
flock -n "$lock" true || fail "launch/check keeps its lock"
# Its log is of the tree: other trees have the same cache.
[ -s checked/build/check.log ] && [ ! -e at/mtlm-dag/log/check.log ] \
    || fail "the log of launch/check"
# A tree on a file system without locks is checked all the same.
mkdir lockless
printf '#!/bin/sh\nexit 71\n' >lockless/flock
chmod +x lockless/flock
PATH=$dir/lockless:$PATH checked_tree
grep -qx "check: warning: $dir/checked/build is on a file system without locks: start no second launch/check there" \
    out || fail "launch/check without locks: $(cat out)"

# A relative name would mean another directory in each script.
XDG_CACHE_HOME=here parts cache_open && fail "a relative XDG_CACHE_HOME"
grep -q "^setup: the cache directory 'here/mtlm-dag' is no absolute path" err \
    || fail "a relative XDG_CACHE_HOME: $(cat err)"

# A user who needs no password is asked for none; one whom sudo refuses hears so.
install='id() { echo 1000; }; dpkg-query() { :; }; apt-get() { :; }
    dpkg() { echo here; }
    package_installed() { false; }
    packages_fetch() { say "fetched$1"; }
    packages_install thing'
parts 'sudo() { [ "$1" = -n ]; }; '"$install" && grep -qx 'fetched thing' out \
    || fail "sudo without a password: $(cat out err)"
parts 'sudo() { false; }; '"$install" && fail "no sudo: $(cat out err)"
grep -qx 'setup: sudo refused' err || fail "no sudo: $(cat out err)"

# A package of two architectures is installed, one of another alone is not.  The
# double prints the lines of a format for NAME-ARCHITECTURE[-ARCHITECTURE].
parts 'dpkg() { echo here; }; apt-get() { :; }; id() { echo 0; }
    packages_fetch() { say "fetched$1"; }
    dpkg-query() {
        local kind line
        for kind in $(tr - " " <<<"${4#*-}"); do
            line=${3/"\${Architecture}"/$kind}
            printf "${line/"\${db:Status-Status}"/installed}"
        done
    }
    packages_install one-here two-here-other text-all odd-other' \
    && grep -qx 'fetched odd-other' out || fail "architectures: $(cat out err)"

# sudo starts commands with an environment of their own; apt still gets the proxy.
http_proxy='http://proxy:3128/ a' no_proxy=local parts 'id() { echo 1000; }
    sudo() { shift; env -i PATH="$PATH" "$@"; }
    as_root sh -c "echo \"\$http_proxy,\$https_proxy,\$no_proxy\""' \
    && grep -qx 'http://proxy:3128/ a,,local' out \
    || fail "a proxy under sudo: $(cat out err)"

# The Python environment is made behind a lock, and the one before stays when
# the network fails.
mkdir -p cache/log cache/peers/bin
printf '#!/bin/sh\n' >cache/peers/bin/python
chmod +x cache/peers/bin/python
echo older >cache/peers/.mtlm-pins
parts 'step() {
        ! flock -n "$CACHE/peers.lock" true || die "no lock"
        mkdir -p "$CACHE/peers"
        [ "$1" = "Python environment" ] || die "no network"
    }
    peers_install' && fail "peers without a network: $(cat out err)"
grep -qx 'setup: no network' err && [ -x cache/peers/bin/python ] \
    && [ "$(cat cache/peers/.mtlm-pins)" = older ] && [ ! -e cache/peers.old ] \
    || fail "peers without a network: $(cat out err)"
# Who waited for another set-up finds its environment.
parts 'step() { die "made twice"; }
    flock() { printf "%s\n" "$PEERS_PINS" >"$CACHE/peers/.mtlm-pins"; }
    peers_install' && grep -qx "  peers: $dir/cache/peers" out \
    || fail "peers of another set-up: $(cat out err)"
# What cannot be removed of the environments before does not end the set-up.
echo older >cache/peers/.mtlm-pins
mkdir -p cache/peers.old/kept
parts 'rm() { [ "${*: -1}" != "$CACHE/peers.old" ] && command rm "$@"; }
    step() { mkdir -p "$CACHE/peers"; }
    peers_install
    [ "$(cat "$CACHE/peers/.mtlm-pins")" = "$PEERS_PINS" ]' \
    && [ ! -e cache/peers.old ] && [ -d cache/peers.old.*/peers.old/kept ] \
    && [ "$(grep -c '^setup: warning: .*/peers.old.* is left over$' err)" -eq 2 ] \
    || fail "peers that stay: $(cat out err)"

# source_of SCRIPT: takes StarPU of an archive that has 1.4.11 alone.  SENT is what
# comes of the download, WHOLE what the archive has.
source_of() {
    parts '
        debian_archives() { echo archive; }
        apt_private() {
            case "$*" in
            *showsrc*)
                printf "%s\n" "Version: 1.4.11+dfsg-1" "Checksums-Sha256:" \
                    " $(printf %s "$WHOLE" | sha256sum | cut -d " " -f 1) 5 starpu_1.4.11+dfsg.orig.tar.gz"
                ;;
            *source*) printf %s "$SENT" >starpu_1.4.11+dfsg.orig.tar.gz ;;
            esac
        }
        '"$1"'
        starpu_source log
        say "took $STARPU_VERSION $STARPU_TARBALL"'
}
took="took 1.4.11+dfsg $dir/cache/source/starpu_1.4.11+dfsg.orig.tar.gz"
# A download that was cut is not taken.
WHOLE=whole SENT=who source_of '' && fail "half a source: $(cat out err)"
grep -q '^setup: could not fetch the source' err \
    || fail "half a source: $(cat out err)"
WHOLE=whole SENT=whole source_of '' && grep -qxF "$took" out \
    || fail "another source: $(cat out err)"
# It is found again without a network, unless it has changed.
offline='starpu_fetch() { :; }'
source_of "$offline" && grep -qxF "$took" out \
    || fail "another source, offline: $(cat out err)"
grep -q '^setup: warning: StarPU .* was not on offer: 1\.4\.11+dfsg from the cache$' \
    err || fail "no word of another source: $(cat out err)"
echo changed >>cache/source/starpu_1.4.11+dfsg.orig.tar.gz
source_of "$offline" && fail "a source that changed: $(cat out err)"

# Files that NFS keeps for a moment do not make the next set-up build again.
parts 'starpu_source() { STARPU_VERSION=1.4.99 STARPU_TARBALL=none; }
    starpu_patch() { :; }
    step() { mkdir -p "$STARPU_PREFIX"; }
    rm() { [ ! -e "$CACHE/build-starpu-cpu/build" ]; }
    starpu_build cpu; starpu_current "$STARPU_PREFIX"' \
    || fail "a build whose directory stays: $(cat out err)"
rm -r cache/starpu-1.4.99-cpu

# A tree that the user has configured keeps its StarPU, and is not configured
# again, unless there is another StarPU or an option.
mkdir -p tree/build cache/log mine/lib other/lib
echo "STARPU_PREFIX = $dir/mine" >tree/build/Makefile
parts 'build_starpu; say "$STARPU_PREFIX"' && grep -qx "$dir/mine" out \
    || fail "the StarPU of a tree: $(cat out err)"
# configures OPTION STARPU WANT: whether build_make does.
configures() {
    parts "STARPU_PREFIX=$dir/$2; build_make '$1'" || fail "build_make: $(cat out err)"
    [ "$(grep -c '== configuring' cache/log/build.log)" -eq "$3" ] \
        && grep -qx made cache/log/build.log \
        || fail "'$1' with $2: $(cat cache/log/build.log)"
}
configures '' mine 0
configures '' other 1
configures no mine 1
configures no mine 0

# cmocka that was installed later is found.
echo 'CMOCKA_LIBS = ' >>tree/build/Makefile
configures '' mine 0
CMOCKA=yes configures '' mine 1
sed -i 's/^CMOCKA_LIBS.*/& -lcmocka/' tree/build/Makefile
CMOCKA=yes configures '' mine 0

# toolkit NAME VERSION: makes a CUDA toolkit.
toolkit() {
    rm -rf "$1"
    mkdir -p "$1/bin" "$1/include" "$1/lib64"
    printf '#!/bin/sh\n' >"$1/bin/nvcc"
    chmod +x "$1/bin/nvcc"
    echo "#define CUDART_VERSION  $2" >"$1/include/cuda_runtime_api.h"
    : >"$1/include/cublasLt.h"
    : >"$1/lib64/libcudart.so"
    : >"$1/lib64/libcudart.so.$(($2 / 1000))"
}

# A tree with CUDA follows CUDA_HOME, and another version in the same place.
toolkit one 13000
toolkit two 13000
echo "#define CUDA_TOOLKIT \"$dir/one 13000\"" >tree/build/config.h
CUDA_HOME=$dir/one configures '' mine 0
CUDA_HOME=$dir/none configures '' mine 0
CUDA_HOME=$dir/two configures '' mine 1
grep -q "build_configure --with-cuda=$dir/two\$" cache/log/build.log \
    || fail "another toolkit: $(cat cache/log/build.log)"
CUDA_HOME=$dir/one configures yes mine 1
CUDA_HOME=$dir/one configures yes mine 0
toolkit one 13010
CUDA_HOME=$dir/one configures yes mine 1
# It follows CUDA_ARCHS, too; so does a bundle, and a tree without CUDA does not.
echo "#define CUDA_TOOLKIT \"$dir/one 13010\"" >tree/build/config.h
CUDA_HOME=$dir/one CUDA_ARCHS='80 120' configures yes mine 1
echo '#define CUDA_ARCHS "80 120"' >>tree/build/config.h
CUDA_HOME=$dir/one CUDA_ARCHS='80 120' configures yes mine 0
CUDA_HOME=$dir/one CUDA_ARCHS=80 configures yes mine 1
CUDA_HOME=$dir/one CUDA_ARCHS=80 configures '' mine 1
CUDA_HOME=$dir/one configures '' mine 0
# bundle_known ARCHS: whether a bundle of that tree is configured.
bundle_known() {
    CUDA_HOME=$dir/one CUDA_ARCHS=$1 parts '. "$LAUNCH/setup.d/bundle.sh"
        starpu_find() { echo "$ROOT/../mine"; }
        BUILD=$ROOT/bundle
        mkdir -p "$BUILD" && cp "$ROOT/build/config.h" "$BUILD"
        printf "%s\n" "STARPU_PREFIX = $(bundle_starpu --with-cuda)" \
            "STARPU_SIMGRID_PREFIX = ${SIMGRID:-}" >"$BUILD/Makefile"
        bundle_is_configured --with-cuda'
}
bundle_known '80 120' || fail "a bundle for the same GPUs: $(cat out err)"
bundle_known 80 && fail 'a bundle for other GPUs counts as configured'
# It has no mtlm-dag-sim, so it must not need a StarPU with SimGrid.
SIMGRID=$dir/mine bundle_known '80 120' \
    && fail 'a bundle with SimGrid counts as configured'
cp tree/build/config.h with-cuda.h
: >tree/build/config.h
CUDA_ARCHS=80 configures '' mine 0
mv with-cuda.h tree/build/config.h
# Where the user names none it is the tree's.
parts 'build_toolkit; say "$CUDA_HOME"' && grep -qx "$dir/one" out \
    || fail "the toolkit of a tree: $(cat out err)"
CUDA_HOME=$dir/two parts 'build_toolkit; say "$CUDA_HOME"' \
    && grep -qx "$dir/two" out || fail "a toolkit named: $(cat out err)"

# StarPU in the cache is of the toolkit that its library loads.
printf '%s\n' \
    ' 0x0000000000000001 (NEEDED)             Shared library: [libcudart.so.13]' \
    ' 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]' \
    " 0x000000000000001d (RUNPATH)            Library runpath: [/lib:$dir/one/lib64]" \
    >dynamic
mkdir -p cache/starpu-1.4-cuda/lib
parts ': >"$CACHE/starpu-1.4-cuda/.mtlm-recipe-$STARPU_RECIPE"'
# finds TOOLKIT yes|no: whether that StarPU is good for the toolkit.
finds() {
    local found=no outdated=no
    ! CUDA_HOME=$dir/$1 parts 'starpu_find cuda' || found=yes
    ! CUDA_HOME=$dir/$1 parts 'starpu_outdated "$CACHE/starpu-1.4-cuda"' \
        || outdated=yes
    [ "$found" = "$2" ] && [ "$outdated" != "$2" ] \
        || fail "StarPU for toolkit $1: found $found, outdated $outdated"
}
finds one yes
finds none yes
finds two no
toolkit one 14000
finds one no

# Options of the user stay when a tree is configured again; those of launch/setup
# do not pile up.
cat >tree/build/config.status <<'END'
#!/bin/sh
[ "$1" = --config ] && cat <<'WORDS'
'--prefix=/a place' --enable-portable 'CFLAGS=-O1 -DX='\''y'\''' --with-starpu=/old --with-cuda=no --with-starpu-simgrid=/gone NVCC=/old/nvcc
WORDS
END
printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >tree/configure
chmod +x tree/build/config.status tree/configure
# again OPTION WANT...: configure gets this for the option.
again() {
    parts '. "$LAUNCH/setup.d/build.sh"; cd tree; STARPU_PREFIX=/new
        build_configure '"$1" || fail "build_configure: $(cat out err)"
    shift
    printf '%s\n' "$@" | diff -u - out || fail "configured again: $(cat out)"
}
user=('--prefix=/a place' --enable-portable "CFLAGS=-O1 -DX='y'")
again '' "${user[@]}" --with-cuda=no NVCC=/old/nvcc --with-starpu=/new
CFLAGS=-O3 again '' '--prefix=/a place' --enable-portable --with-cuda=no \
    NVCC=/old/nvcc --with-starpu=/new
again --with-cuda=/at "${user[@]}" --with-starpu=/new --with-cuda=/at
rm tree/build/config.status
again --with-cuda=no --with-starpu=/new --with-cuda=no

# A bundle runs on any machine of its kind; only x86-64 has a v3.
mkdir tree/build-bundle
for kind in aarch64=yes x86_64=x86-64-v3; do
    parts '. "$LAUNCH/setup.d/bundle.sh"; BUILD=$ROOT/build-bundle
        starpu_find() { echo /starpu; }
        uname() { echo '"${kind%=*}"'; }
        bundle_configure --without-cuda' \
        && grep -qx -e "--enable-portable=${kind#*=}" out \
        && grep -qx -e --without-starpu-simgrid out \
        || fail "a bundle on $kind: $(cat out err)"
done

rm -r mine/lib
parts 'build_starpu; say "StarPU:$STARPU_PREFIX"' && grep -qx StarPU: out \
    || fail "a StarPU that is gone: $(cat out err)"

# A job without a home keeps its cache in the tree.  No archive has .ci/.
if [ -e "$srcdir/.ci/run" ]; then
    mkdir -p ci/.ci ci/launch home
    cp "$srcdir/.ci/run" ci/.ci/
    printf '#!/bin/sh\necho "${XDG_CACHE_HOME:-at home}"\n' >ci/launch/check
    chmod +x ci/launch/check
    [ "$(env -u XDG_CACHE_HOME -u HOME ci/.ci/run)" = "$dir/ci/build/cache" ] \
        || fail "a job without a home"
    [ "$(env -u XDG_CACHE_HOME HOME="$dir/home" ci/.ci/run)" = "at home" ] \
        || fail "a job with a home"
fi

# Headers of libraries count as the system's; a directory may have -I in its name.
rule=$(sed -n "s/.*| sed '\(.*-isystem.*\)'.*/\1/p" "$srcdir/configure" | head -n 1)
[ "$(printf '%s\n' '-I/a/b-I/c -DX -I /d' | sed "$rule")" \
    = '-isystem /a/b-I/c -DX -isystem /d' ] || fail "-I by '$rule'"

# refuses TEXT OPTION...: configure ends with this error.
refuses() {
    local text=$1
    shift
    mkdir -p configured
    (cd configured && "$srcdir/configure" "$@") >out 2>&1 \
        && fail "configure $* went on"
    grep -qF -- "$text" out || fail "configure $*: $(tail -n 5 out)"
}
# A source tree that is configured itself can be used for no other.
if [ ! -e "$srcdir/config.status" ]; then
    refuses "error: --enable-portable=nothing: " --enable-portable=nothing
    toolkit old 12080
    # Libraries may be where the options of this build say.
    eval "given=($("$builddir/config.status" --config))"
    refuses "error: --with-cuda: CUDA 13 is needed" \
        ${given[@]+"${given[@]}"} --with-cuda="$dir/old" \
        --with-starpu="$STARPU_PREFIX"
fi

finish
