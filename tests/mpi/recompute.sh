#!/bin/bash
# Recomputation in real runs: every weight is the same bit for bit, plan and
# peak of memory fall.  Pipelines are in tests/mpi/table.sh.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

full=(--recompute-granularity full)
run=("${small[@]}" --train-iters 5 --weight-hash)

# same RANKS OPTION...: whether each way of it trains like none.
same() {
    local n=$1 hash
    shift
    well "$n" "${run[@]}" "$@"
    hash=$(weight_hash out)
    [ -n "$hash" ] || fail "$*: no hash"
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086 # several words
        well "$n" "${run[@]}" "$@" $way
        [ "$(weight_hash out)" = "$hash" ] \
            || fail "$n ranks $* $way: hash $(weight_hash out), not $hash"
    done
}

ways=('--recompute-granularity selective'
    '--recompute-granularity full --recompute-num-layers 3')
if full_tier; then
    ways+=('--recompute-granularity full'
        '--recompute-granularity full --recompute-method block')
fi
beside same 1 --row-parts 3 --workers 2
layout 2 1
beside same 2 "${parallel[@]}" --transport serial
together

shape=(--num-layers 6 --hidden-size 256 --seq-length 512)

# memory OPTION...: activations as planned, and the real peak, in MiB.
memory() {
    well 1 --model gpt2-124m "${shape[@]}" \
        --num-attention-heads 4 --vocab-size 999 \
        --micro-batch-size 4 --global-batch-size 8 --train-iters 2 \
        --eval-iters 1 --lr-warmup-iters 0 "$@"
    planned=$(sed -n 's/.*activations \([0-9.]*\),.*/\1/p' out)
    peak=$(sed -n 's/^memory: peak \([0-9.]*\).*/\1/p' out)
}

if ! sanitized; then
    memory
    kept=$planned kept_peak=$peak
    memory "${full[@]}"
    echo "activations $kept, recomputed $planned; peak $kept_peak, $peak MiB"
    awk "BEGIN { exit !($planned < 0.4 * $kept) }" || fail "plan: $planned"
    awk "BEGIN { exit !($peak < 0.6 * $kept_peak) }" || fail "peak: $peak"
fi

job 1 --model gpt-tiny --dry-run
grep -q '^hardware FLOPs .*: nothing is computed twice$' out \
    || fail "no recomputation: $(cat out)"
job 1 --model gpt-tiny --dry-run --recompute-activations
grep -q '^hardware FLOPs .* of them again, by recomputation$' out \
    || fail "recomputation: $(cat out)"

finish
