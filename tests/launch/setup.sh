#!/bin/bash
# The parts of launch/setup, without an installation or a build: where scripts
# find themselves, long steps, and trees that are configured already.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

launch=$srcdir/launch

# A user's CDPATH makes cd print where it went.
for name in setup check corpus bundle package quickstart; do
    (cd "$srcdir" && CDPATH=.:.. "launch/$name" --help) >out 2>&1 \
        || fail "launch/$name with CDPATH: $(cat out)"
done

# parts SCRIPT: runs it with the parts of launch/setup, in a shell of its own.
parts() {
    bash -euc 'PROGRAM=setup LAUNCH=$1 ROOT=$PWD/tree CACHE=$PWD/cache JOBS=1
        for part in common starpu build; do . "$LAUNCH/setup.d/$part.sh"; done
        build_configure() { say configured; }
        make() { say made; }
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
rm -r mine/lib
parts 'build_starpu; say "StarPU:$STARPU_PREFIX"' && grep -qx StarPU: out \
    || fail "a StarPU that is gone: $(cat out err)"

finish
