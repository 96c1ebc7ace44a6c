#!/bin/bash
# make install: everything that a user needs is there, and works without the
# source tree: programs, mtlm-run, mtlm-compare, manual pages, clusters, and
# policies that compile by pkg-config.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

# of NAME: a variable of the Makefile.
of() {
    sed -n "s/^$1 = //p" "$builddir/Makefile"
}

at=$dir/usr
make -s -C "$builddir" install prefix="$at" >log 2>&1 \
    || fail "make install: $(tail -n 5 log)"
for name in mtlm-dag mtlm-run mtlm-compare mtlm-preprocess mtlm-convert mtlm-report; do
    [ -x "$at/bin/$name" ] || fail "no bin/$name: $(ls "$at/bin")"
done
man=$(of mandir)
for name in mtlm-dag mtlm-run mtlm-compare mtlm-preprocess mtlm-convert mtlm-report; do
    find "$at" -path "*/man1/$name.1" | grep -q . || fail "no page of $name ($man)"
done

# The StarPU of launch/setup belongs to a user; others run the program, too.
loads() { # PROGRAM DIRECTORY
    ldd "$1" | grep -q "libstarpu-1.4.* => $2/lib" \
        || fail "$1 does not load StarPU from $2: $(ldd "$1" | grep starpu)"
}
built_here() { # PREFIX OF A STARPU
    ls "$1"/.mtlm-recipe-* >/dev/null 2>&1
}
! built_here "$STARPU_PREFIX" || loads "$at/bin/mtlm-dag" "$at/bin/../lib/mtlm-dag"
[ ! -x "$builddir/mtlm-dag-sim" ] || ! built_here "$(of STARPU_SIMGRID_PREFIX)" \
    || loads "$at/libexec/mtlm-dag/mtlm-dag-sim" \
        "$at/libexec/mtlm-dag/../../lib/mtlm-dag/sim"

cd "$dir" || exit 1
unset srcdir
PATH=$at/bin:$PATH
mtlm-run -n 2 no-such-program >out 2>&1 && fail "mtlm-run: no program, status 0"
grep -qx "mtlm-run: there is no program 'no-such-program' in PATH" out \
    || fail "mtlm-run: $(cat out)"
mtlm-run --help >out || fail "mtlm-run --help: $?"
grep -q '^Usage: .*mtlm-run -n N' out || fail "mtlm-run --help: $(cat out)"
mtlm-run -n 2 mtlm-dag "${small[@]}" --train-iters 1 --weight-hash \
    --pipeline-model-parallel-size 2 >out 2>err || fail "mtlm-run: $(cat out err)"
want=$(weight_hash out)
[ -n "$want" ] || fail "mtlm-run: no hash: $(cat out)"

# What a policy is compiled with: mtlm-dag.pc names its own StarPU, too.
export PKG_CONFIG_PATH=$at/lib/pkgconfig
cp -r "$(pkg-config --variable=policiesdir mtlm-dag)" mine \
    || fail "pkg-config: $(cat "$at/lib/pkgconfig/mtlm-dag.pc")"
make -s -C mine CC="$(of CC)" >log 2>&1 || fail "policies: $(cat log)"
pkg-config --cflags mtlm-dag >out 2>err || fail "pkg-config: $(cat err)"
grep -q -- "-I$at/include" out || fail "pkg-config --cflags: $(cat out)"

# In virtual time: another StarPU, and a program that is no user's command.
if [ -x "$builddir/mtlm-dag-sim" ]; then
    printf '[stage]\nforward_ms = 50\nbackward_ms = 50\nweight_ms = 50\n' >50.ini
    make -s -C mine CC="$(of CC)" policies-sim.so >log 2>&1 \
        || fail "virtual: $(cat log)"
    STARPU_SCHED=smallest STARPU_SCHED_LIB=mine/policies-sim.so mtlm-dag \
        --model gpt-tiny --pipeline-model-parallel-size 2 --micro-batch-size 1 \
        --global-batch-size 4 --simulate 50.ini --simulate-engine starpu \
        --world-size 2 >out 2>err || fail "virtual: $(cat out err)"
    grep -q '^engine .*policy smallest: ' out || fail "virtual: $(cat out)"
fi
mtlm-compare --policies prio,smallest=mine/policies.so \
    --rounds 1 -- --model gpt-tiny --num-layers 2 --train-iters 5 \
    >out 2>err || fail "mtlm-compare: $(cat out err)"
grep -q smallest out || fail "mtlm-compare: $(cat out)"

make -s -C "$builddir" uninstall prefix="$at" >log 2>&1 \
    || fail "make uninstall: $(tail -n 5 log)"
[ -z "$(find "$at" -type f)" ] || fail "left: $(find "$at" -type f)"

finish
