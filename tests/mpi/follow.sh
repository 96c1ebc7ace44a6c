#!/bin/bash
# --schedule-file: the same weights in every mode as without a file, what the
# file decides, the plan of the file, and what is refused.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
refuses_at_once

# plan NAME RANKS CHUNKS MICROBATCHES OPTION...: an order of our own, NAME.csv.
plan() {
    local name=$1 p=$2 v=$3 m=$4
    shift 4
    well 1 "${small[@]}" --num-layers $((p * v)) --workers 1 \
        --global-batch-size $((2 * m)) --dry-run --schedule "$name" "$@" \
        --pipeline-model-parallel-size "$p" \
        --num-virtual-stages-per-pipeline-rank "$v" --schedule-out "$name.csv"
}

# trains RANKS LAYERS BATCH OPTION...: the weight hash of three iterations.
trains() {
    local ranks=$1 layers=$2 batch=$3
    shift 3
    well "$ranks" "${small[@]}" --num-layers "$layers" \
        --global-batch-size "$batch" --train-iters 3 --weight-hash "$@"
    weight_hash out
}

# same FILE RANKS LAYERS BATCH OPTION...: every mode, against no file.
same() {
    local file=$1 hash mode
    shift
    hash=$(trains "$@")
    [ -n "$hash" ] || fail "$*: no weight hash: $(cat out err)"
    for mode in strict hint windows; do
        [ "$(trains "$@" --schedule-file "$file" --schedule-mode $mode)" = "$hash" ] \
            || fail "$file, $mode: $* has other weights: $(cat err)"
    done
}

plan zb-h1 2 1 4
plan zb-v 2 2 4 --placement v
same zb-h1.csv 2 2 8 --pipeline-model-parallel-size 2
STARPU_NCPU=2 same zb-v.csv 2 4 8 --pipeline-model-parallel-size 2 \
    --num-virtual-stages-per-pipeline-rank 2 --placement v
if full_tier; then
    plan 1f1b 4 1 6
    for policy in prio lws ws eager random dmda mtlm; do
        export STARPU_SCHED=$policy
        same 1f1b.csv 4 4 12 --pipeline-model-parallel-size 4
    done
    unset STARPU_SCHED
    same zb-h1.csv 4 2 8 --tensor-model-parallel-size 2 \
        --pipeline-model-parallel-size 2
fi

# The plan of a file: pipeline size, stages and placement are the file's, the
# order is the file's again.
well 1 "${small[@]}" --dry-run --workers 1 --schedule-file zb-v.csv \
    --schedule-out again.csv --svg plan.svg
grep -q '^layout: *tensor 1 x pipeline 2 \|^layout  *tensor 1 x pipeline 2 ' out \
    || fail "the plan has no two ranks: $(cat out)"
grep -q '2 on each rank (placement v)' out || fail "the plan is no V: $(cat out)"
! grep -q 'at a time' out || fail "one worker: $(cat out)"
cmp zb-v.csv again.csv || fail "--schedule-out of a file: $(cat again.csv)"
grep -q '</svg>' plan.svg || fail 'no picture of the plan'

well 1 "${small[@]}" --dry-run --workers 2 --schedule-file zb-v.csv
grep -q 'and here each has 2; strict runs 1 pass at a time' out || fail "$(cat out)"

# Replay: what ran in strict mode is the file, and what ran without a file runs
# again.
report=${program%mtlm-dag}mtlm-report
# traced DIR OPTION...: a traced run of two ranks, and its order DIR.csv.
traced() {
    local to=$1
    shift
    rm -rf "$to"
    well 2 "${small[@]}" --train-iters 2 --workers 1 --trace "$to" "$@"
    "$report" "$to" --schedule-out "$to.csv" >said 2>&1 \
        || fail "mtlm-report $to: $(cat said)"
}
traced forced --schedule-file zb-v.csv
cmp zb-v.csv forced.csv || fail "strict had another order: $(cat forced.csv)"
traced free --pipeline-model-parallel-size 2
traced again --schedule-file free.csv
cmp free.csv again.csv || fail "replayed as $(cat again.csv), not $(cat free.csv)"
# A stage without layers has passes, too.
for layers in 0,4 4,0; do
    traced ends --pipeline-model-parallel-size 2 --stage-layers $layers
    traced again --schedule-file ends.csv --stage-layers $layers
    cmp ends.csv again.csv \
        || fail "$layers: replayed as $(cat again.csv), not $(cat ends.csv)"
done

# refused STATUS WORDS OPTION...
refused() {
    local status=$1 words=$2
    shift 2
    job 1 "${small[@]}" --dry-run "$@"
    [ $rc -eq "$status" ] || fail "$*: status $rc: $(cat err)"
    has_words "$*" "$words"
}
refused 2 'has placement v, and --placement is loop' \
    --schedule-file zb-v.csv --placement loop
refused 6 'but the slots of the order need' --schedule-file zb-h1.csv \
    --workers 9 --schedule-mode hint --act-mem 4000000
echo '0F1,0F0,0B0,0B1' >late.csv
job 1 "${small[@]}" --dry-run --schedule-file late.csv --schedule-mode hint \
    --global-batch-size 4
[ $rc -eq 0 ] || fail "descending microbatches as a hint: $(cat err)"
printf '%s\n' 0F0,0B0 1F0,1B0 3F0 >uneven.csv
refused 2 'cannot share' --schedule-file uneven.csv

# An order beyond the memory of the machine: the action that is too much, where
# the same job without the order fits.  Rank 1 leaves rank 0 most of the memory.
if ! sanitized; then
    long=(--model gpt-tiny --seq-length 512 --micro-batch-size 4 --eval-iters 0
        --global-batch-size 256 --workers 1)
    {
        printf '0F%d,' {0..63} && printf '0B%d,' {0..63} && echo
        for i in {0..63}; do printf '1F%d,1B%d,' "$i" "$i"; done
    } >all.csv
    (ulimit -v 4500000 && job 2 "${long[@]}" --schedule-file all.csv
        column=$(sed -nE 's/^mtlm-dag: all.csv: rank 0, column ([0-9]+): with 0F[0-9]+ the activations take [0-9.]+ MiB, and the rank has [0-9.]+ MiB for them$/\1/p' err)
        [ $rc -eq 2 ] && [ "${column:-0}" -gt 40 ]) \
        || fail "an order beyond the memory: $(cat err)"
    (ulimit -v 4500000 && job 1 "${long[@]}" --dry-run \
        --pipeline-model-parallel-size 2 --world-size 2 && grep -q '^It fits\|fit on 1 machine' out) \
        || fail "the same job without an order: $(cat out err)"
fi

# Every rank reads the same file.
mkdir one two
printf '%s\n' 0F0,0F1,0B0,0B1 1F0,1B0,1F1,1B1 >one/order.csv
printf '%s\n' 0F0,0F1,0B0,0B1 1F0,1F1,1B0,1B1 >two/order.csv
cat >each <<'EOF'
cd "$([ "${OMPI_COMM_WORLD_RANK:-0}" = 0 ] && echo one || echo two)" && exec "$@"
EOF
# shellcheck disable=SC2086 # several words
timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n 2 bash "$dir/each" "$program" \
    "${small[@]}" --global-batch-size 4 --train-iters 1 --schedule-file order.csv \
    >out 2>err </dev/null
rc=$?
[ $rc -eq 2 ] || fail "two files: status $rc: $(cat err)"
grep -q 'other settings' err || fail "two files: $(cat err)"
finish
