#!/bin/bash
# The rule of docs/policies.md, taken from the page and compiled with installed
# headers: at most 60 lines, the same weights, and the makespan of ZB-H1.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/synthetic_common.sh" || exit

of() {
    sed -n "s/^$1 = //p" "$builddir/Makefile"
}
make -s -C "$builddir" install-mtlmincludeHEADERS DESTDIR="$dir" \
    mtlmincludedir=/usr/include/mtlm >/dev/null || fail "make install"
cp "$srcdir/runtime/policies/smallest.c" .
sed -n '/^```c$/,/^```$/{/^```/d;p}' "$srcdir/docs/policies.md" >zbh1.c
lines=$(wc -l <zbh1.c)
[ "$lines" -ge 40 ] && [ "$lines" -le 60 ] || fail "the rule has $lines lines"
# compile FILE FLAGS...
compile() {
    # shellcheck disable=SC2046 # several words
    $(of CC) -shared -fPIC -Wall -Wextra -Werror -I"$dir/usr/include" \
        "${@:2}" -o "$1" zbh1.c || fail "the rule does not compile"
}
# shellcheck disable=SC2046 # several words
compile zbh1.so $(of STARPU_CFLAGS)

layout 1 2
run=("${small[@]}" "${parallel[@]}" --train-iters 2 --weight-hash
    --schedule zb-h1)
well 2 "${run[@]}"
want=$(weight_hash out)
export STARPU_SCHED=zbh1 STARPU_SCHED_LIB=./zbh1.so
well 2 "${run[@]}"
[ -n "$want" ] && [ "$(weight_hash out)" = "$want" ] || fail "other weights"

# F = B = W = 50 ms: 27 of them; a hop of 50 us adds hops only.
if [ ! -x "$builddir/mtlm-dag-sim" ]; then
    echo "no mtlm-dag-sim (launch/setup --simgrid): four ranks that sleep"
    cluster equal.ini 50
    layout 1 4
    compare 5 4 "${pretend[@]}" "${parallel[@]}" --num-layers 4 \
        --global-batch-size 8 --schedule zb-h1 --synthetic equal.ini \
        --trace trace
    finish_compared
fi
# shellcheck disable=SC2046 # several words
compile zbh1.so $(of STARPU_SIMGRID_CFLAGS)
for hop in 0 50; do
    cluster equal.ini 50 "$hop"
    "$program" --simulate equal.ini --simulate-engine starpu --world-size 4 \
        --model gpt-tiny --num-layers 4 --pipeline-model-parallel-size 4 \
        --micro-batch-size 1 --global-batch-size 8 --schedule zb-h1 \
        >out 2>err || fail "$(cat err)"
    awk '$1 == "time" { units = $2 / 0.05 }
         END { exit !(units > 26.99 && units < 27.03) }' out \
        || fail "hop $hop us: $(cat out)"
done
finish
