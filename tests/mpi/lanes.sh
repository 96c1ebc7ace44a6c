#!/bin/bash
# Orders of several lanes: two workers on each rank run the lanes of a file at the
# same time, with the same weights in every mode as without a file; a traced run
# gives its lanes, and mode strict repeats them.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
report=${program%mtlm-dag}mtlm-report

# lanes_of FILE: the passes of each lane, without empty cells; B as I and W.
lanes_of() {
    sed -E 's/,+/,/g; s/,$//; s/,([0-9]+)B([0-9]+)/,\1I\2,\1W\2/g' "$1"
}

# trains RANKS OPTION...: the weight hash of three iterations, two workers a rank.
trains() {
    local ranks=$1
    shift
    well "$ranks" "${small[@]}" --num-layers 4 --global-batch-size 8 --workers 2 \
        --train-iters 3 --weight-hash "$@"
    weight_hash out
}

# repeats FILE RANKS OPTION...: a traced strict run has the lanes of the file.
repeats() {
    local file=$1
    shift
    [ "$(trains "$@" --schedule-file "$file" --trace again)" = "$hash" ] \
        || fail "$file, traced: $* has other weights: $(cat err)"
    "$report" again --schedule-out again.csv >said 2>&1 \
        || fail "mtlm-report again: $(cat said)"
    diff <(lanes_of "$file") <(lanes_of again.csv) \
        || fail "$file ran as $(cat again.csv)"
    rm -r again
}

# traced RANKS OPTION...: a run without a file, its hash, and its order free.csv.
# Two workers may start microbatches of a stage out of order, which strict
# refuses: then once more.  Where no run is in order, there is no free.csv.
traced() {
    for _ in 1 2 3 4 5; do
        rm -rf free
        hash=$(trains "$@" --trace free)
        [ -n "$hash" ] || fail "no weight hash: $(cat out err)"
        "$report" free --schedule-out free.csv >said 2>&1 \
            || fail "mtlm-report free: $(cat said)"
        job 1 "${small[@]}" --dry-run --workers 2 --schedule-file free.csv
        grep -q 'stands behind' err || return 0
    done
    echo "no run in order: $*"
    rm free.csv
}

# same FILE RANKS OPTION...: every mode has the weights of $hash.
same() {
    local file=$1 mode
    shift
    for mode in strict hint windows; do
        [ "$(trains "$@" --schedule-file "$file" --schedule-mode $mode)" = "$hash" ] \
            || fail "$file, $mode: $* has other weights: $(cat err)"
    done
}

# A plan of two workers has two lanes on each rank; what ran without a file runs
# again in the same lanes.
for ranks in 1 2; do
    layout=(--pipeline-model-parallel-size "$ranks")
    well 1 "${small[@]}" --num-layers 4 --global-batch-size 8 --workers 2 \
        "${layout[@]}" --dry-run --schedule-out "plan$ranks.csv"
    [ "$(cut -d, -f1 "plan$ranks.csv" | tr '\n' ' ')" \
        = "$([ $ranks -eq 1 ] && echo '0.0 0.1 ' || echo '0.0 0.1 1.0 1.1 ')" ] \
        || fail "a plan without lanes: $(cat "plan$ranks.csv")"
    traced $ranks "${layout[@]}"
    same "plan$ranks.csv" $ranks
    repeats "plan$ranks.csv" $ranks
    [ ! -e free.csv ] || repeats free.csv $ranks
done
# Of ranks with unequal workers, the one with too few is named.
run=("$program" "${small[@]}" --num-layers 4 --global-batch-size 8 --train-iters 3
    --pipeline-model-parallel-size 2 --schedule-file plan2.csv)
# shellcheck disable=SC2086 # several words
timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n 1 -x STARPU_NCPU=2 "${run[@]}" \
    : -n 1 -x STARPU_NCPU=1 "${run[@]}" >out 2>err </dev/null
rc=$?
[ $rc -eq 2 ] && grep -q 'plan2.csv has 2 lanes for pipeline rank 1, and rank 1 has 1 worker; give --workers 2, or --schedule-mode hint' \
    err || fail "two lanes on unequal ranks: status $rc: $(cat err)"
if full_tier; then
    for policy in lws ws eager random dmda mtlm; do
        export STARPU_SCHED=$policy
        same plan2.csv 2
        [ ! -e free.csv ] || repeats free.csv 2
    done
    unset STARPU_SCHED
    same plan2.csv 2 --comm-node task
    tensor=(--tensor-model-parallel-size 2)
    hash=$(trains 4 "${tensor[@]}" --pipeline-model-parallel-size 2)
    [ -n "$hash" ] || fail "no weight hash of tensor 2: $(cat out err)"
    same plan2.csv 4 "${tensor[@]}"
fi

# Passes of two lanes run at the same time: half the time of one lane.
printf '%s\n' '[stage 0]' 'forward_ms = 1000' 'backward_ms = 1000' \
    'weight_ms = 1000' >equal.ini
plan=("${small[@]}" --num-layers 1 --global-batch-size 4 --stage-times equal.ini
    --dry-run)
printf '%s\n' 0.0,0F0,,0B0 0.1,,0F1,,0B1 >two.csv
well 1 "${plan[@]}" --workers 2 --schedule-file two.csv
grep -q '^modes  *strict 3 s, hint [0-9.]* s, windows [0-9.]* s; without --schedule-file [0-9.]* s$' \
    out || fail "no modes: $(cat out)"
! grep -q 'its order is for' out || fail "two lanes, two workers: $(cat out)"
echo 0F0,0F1,0B0,0B1 >one.csv
well 1 "${plan[@]}" --workers 2 --schedule-file one.csv
grep -q '^modes  *strict 6 s, ' out || fail "one lane: $(cat out)"
grep -q 'one.csv: its order is for 1 worker on each rank, and here each has 2; strict runs 1 pass at a time' \
    out || fail "one lane, two workers: $(cat out)"
job 1 "${plan[@]}" --workers 1 --schedule-file two.csv
[ $rc -eq 2 ] && grep -q 'two.csv has 2 lanes on a rank, and each rank has 1 worker; give --workers 2, or --schedule-mode hint' \
    err || fail "two lanes on one worker: status $rc: $(cat err)"
well 1 "${plan[@]}" --workers 1 --schedule-file two.csv --schedule-mode hint
grep -q '^modes  *hint 6 s, windows 6 s; without' out \
    || fail "two lanes as a hint: $(cat out)"
finish
