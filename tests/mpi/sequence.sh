#!/bin/bash
# Sequence parallelism in real runs: the losses of one rank, whatever the
# transport; pipelines and recomputation change no bit; less memory.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

run=("${small[@]}" --train-iters 10 --weight-hash)

well 1 "${run[@]}"
losses out >losses1
[ "$(wc -l <losses1)" -eq 10 ] || fail "one rank: not 10 losses"
layout 2 1
well 2 "${run[@]}" "${parallel[@]}" --sequence-parallel
like_one_rank 1e-6 || fail "T2: losses differ by $worst"
hash=$(weight_hash out)
[ -n "$hash" ] || fail "T2: no hash"
well 2 "${run[@]}" "${parallel[@]}"
[ "$(weight_hash out)" != "$hash" ] || fail "no rows are shared"

# same NAME RANKS OPTION...: whether it trains like T2, bit for bit.
same() {
    local name=$1
    shift
    well "$@"
    like_one_rank 1e-6 || fail "$name: losses differ by $worst"
    [ "$(weight_hash out)" = "$hash" ] \
        || fail "$name: hash $(weight_hash out), not $hash"
}

with=("${run[@]}" --sequence-parallel)
same 'T2, serial' 2 "${with[@]}" "${parallel[@]}" --transport serial
if full_tier; then
    same 'T2, selective' 2 "${with[@]}" "${parallel[@]}" \
        --recompute-granularity selective
    same 'T2, full' 2 "${with[@]}" "${parallel[@]}" --recompute-granularity full
fi
layout 2 2
! full_tier || same 'T2 x P2' 4 "${with[@]}" "${parallel[@]}"
same 'T2 x P2, serial, full' 4 "${with[@]}" "${parallel[@]}" \
    --recompute-granularity full --transport serial
layout 4 1
well 4 "${with[@]}" "${parallel[@]}" --row-parts 2
like_one_rank 1e-6 || fail "T4 in parts: losses differ by $worst"

# Rows that ranks cannot share.
layout 2 1
job 2 --model gpt-tiny --seq-length 63 --train-iters 1 --sequence-parallel \
    "${parallel[@]}"
[ "$rc" -eq 2 ] || fail "63 rows for 2 ranks: exit code $rc"
grep -q 'does not divide the rows of every part of a sample' err \
    || fail "63 rows for 2 ranks: $(cat err)"

# Of the model whose memory is looked at.
shape=(--num-layers 4 --hidden-size 256 --seq-length 64)
! full_tier || shape=(--num-layers 4 --hidden-size 256 --seq-length 256)

# activations OPTION...: of each rank, in MiB, and the ratio of the real peak
# to the planned one.
activations() {
    well 2 --model gpt2-124m "${shape[@]}" \
        --num-attention-heads 4 --vocab-size 999 \
        --micro-batch-size 4 --global-batch-size 8 --train-iters 2 \
        --eval-iters 1 --lr-warmup-iters 0 "${parallel[@]}" "$@"
    planned=$(sed -n 's/.*activations \([0-9.]*\),.*/\1/p' out)
    ratio=$(awk '/^memory: peak/ { print $3 / $6 }' out)
}

if ! sanitized; then
    activations
    whole=$planned
    activations --sequence-parallel
    echo "activations $whole, with rows shared $planned MiB; peak/plan $ratio"
    awk "BEGIN { exit !($planned < 0.9 * $whole) }" || fail "plan: $planned"
    awk "BEGIN { exit !($ratio > 0.95 && $ratio < 1.05) }" \
        || fail "peak: $ratio of the plan"
fi

finish
