#!/bin/bash
# Orders, published or found by search: the weights of gpipe, whichever order ranks follow
# and however they follow the order; strictly, the order that the plan says.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
program=$(readlink -f "$program")
report=${program%mtlm-dag}mtlm-report

length=(--train-iters 2)

# trains NAME OPTION...: the weight hash of a run of $ranks ranks.
trains() {
    local name=$1
    shift
    well "$ranks" "${small[@]}" "${length[@]}" --weight-hash --workers 1 \
        --num-layers $((2 * ranks)) --global-batch-size $((4 * ranks)) \
        --pipeline-model-parallel-size "$ranks" --schedule "$name" "$@"
    weight_hash out
}

# same NAME OPTION...
same() {
    [ "$(trains "$@")" = "$hash" ] || fail "$ranks ranks, $*: other weights: $(cat err)"
}

ranks=2
hash=$(trains gpipe)
[ -n "$hash" ] || fail "no weight hash: $(cat out err)"
for name in gpipe 1f1b interleaved zb-h1 zb-h2 zb-v; do
    same $name --schedule-mode strict
done
for name in breadth-first zb-1p zb-2p v-half v-min dualpipe-v; do
    same $name
done
# Slots are dealt out to microbatches of an iteration, though it has fewer: 1, 1,
# 2, 3, 4 and 4 of them.
constant=("${small[@]}")
small=("${small[@]/--lr-warmup-fraction/--lr-warmup-samples}")
length=(--train-samples 30 --lr-decay-samples 30 --rampup-batch-size 2 2 12)
hash=$(trains gpipe)
for mode in strict hint; do
    same zb-v --schedule-mode $mode
done
small=("${constant[@]}")
length=(--train-iters 2)
if full_tier; then
    for ranks in 2 4; do
        hash=$(trains gpipe)
        for name in gpipe 1f1b interleaved breadth-first zb-h1 zb-h2 zb-1p \
            zb-2p zb-v v-half v-min dualpipe-v; do
            for mode in strict hint windows; do
                same $name --schedule-mode $mode
            done
        done
    done
    ranks=2
fi

# The order that auto finds for a slow rank, slow messages and little memory.
cat >slow.ini <<'END'
[stage 0]
forward_ms = 1
backward_ms = 1.3
weight_ms = 0.8
[stage 1]
forward_ms = 1.25
backward_ms = 1.625
weight_ms = 1
[stage 2-3]
forward_ms = 1
backward_ms = 1.3
weight_ms = 0.8
[hop]
latency_us = 500
END
sed 's/stage 2-3/stage 2-7/' slow.ini >slow-v.ini
ranks=4
hash=$(trains gpipe)
same auto --stage-times slow.ini --act-mem 2.12e6
grep -q '^schedule auto: .* of an order found by search, ' out err \
    || fail "auto follows no order: $(cat out err)"

# Where workers wait for messages, places in the plan of a schedule are priorities.
export STARPU_SCHED=mtlm
same zb-v --stage-times slow-v.ini
grep -q '^schedule zb-v: places in the order of its plan are priorities' out err \
    || fail "zb-v follows no plan: $(cat out err)"
same zb-v --stage-times slow-v.ini --schedule-mode windows
! grep -q 'places in the order' out err || fail "windows become places: $(cat out err)"
unset STARPU_SCHED
ranks=2

# Without times, auto compares orders by FLOPs.  It is no longer than the best
# published order in its memory, strict or not.
for batch in 8 16; do
    plan=(--model gpt-tiny --num-layers 8 --micro-batch-size 1 --workers 1 --dry-run
        --global-batch-size $batch --pipeline-model-parallel-size 4)
    well 1 "${plan[@]}" --schedule auto
    grep -q 'found by search' out || fail "auto compares no orders: $(cat out)"
    auto=$(sed -nE "s/^ +([0-9.]+) x that rank's work.*/\1/p" out)
    memory=$(sed -nE 's/^schedule auto: .* --act-mem ([0-9]+)$/\1/p' out)
    for name in 1f1b zb-h1 zb-1p zb-v v-half v-min dualpipe-v; do
        job 1 "${plan[@]}" --schedule $name --schedule-mode strict \
            --act-mem "${memory:-0}"
        grep '^modes ' out
    done | grep -oE '(strict|hint|windows) [0-9.]+ x' >modes
    awk -v auto="${auto:-9}" '$2 * 1.001 < auto { bad = 1 } { n++ }
        END { exit bad || n < 12 }' modes \
        || fail "$batch microbatches: auto $auto, published: $(cat modes)"
done

# The plan's order is the order that ran.
run=("${small[@]}" --num-layers 4 --workers 1 --pipeline-model-parallel-size 2
    --schedule v-half --schedule-mode strict)
well 1 "${run[@]}" --dry-run --schedule-out plan.csv
well 2 "${run[@]}" --train-iters 2 --trace ran
"$report" ran --schedule-out ran.csv >said 2>&1 || fail "mtlm-report: $(cat said)"
cmp plan.csv ran.csv || fail "planned $(cat plan.csv), ran $(cat ran.csv)"

# More memory than there is: refused before anything starts.
refuses_at_once
job 2 "${run[@]}" --act-mem 1.2e6 --train-iters 1
[ $rc -eq 2 ] || fail "--act-mem: status $rc: $(cat err)"
grep -qE 'schedule v-half: rank 0, column [0-9]+: with [03]F[0-9]+ the activations take [0-9.]+ MiB, and the rank has 1.14441 MiB for them' err \
    || fail "--act-mem: $(cat err)"
finish
