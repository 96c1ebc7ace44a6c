#!/bin/bash
# --seeds: each run is that of --seed, in a directory of its own; a job that is
# stopped in a run or between two goes on by the same command, and trains no
# finished seed again; the medians are of the runs; ranks have the same seeds.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/finetune_data.sh"

of=(--task squad "${tune[@]}" --train-data "${train[squad]}" --valid-data "${dev[squad]}"
    --epochs 2 --weight-hash)
seeds=("${of[@]}" --seeds '7,8,9')
well 1 "${of[@]}" --seed 7
grep 'weight hash' out >seed.hash

# medians RANKS OPTION...: all seeds, and the medians of their lines.
medians() {
    well "$@" "${seeds[@]}"
    grep '^  ' out >medians
    grep -oE '^  seed .* F1 .*' medians | grep -oE '[0-9.]+$' | sort -g | xargs >sorted
    read -r least middle most <sorted
    grep -q "^  F1: median $middle, least $least, greatest $most$" medians \
        || fail "$*: medians: $(cat medians)"
}
STARPU_SCHED=mtlm medians 1
cp medians first
[ -z "$(grep -E '^(machine|GPU):' out | sort | uniq -c | awk '$1 != 3')" ] \
    && grep -q '^machine: .*, policy mtlm' out \
    || fail "runs on other processors or with another policy: $(grep -E '^(machine|GPU):' out)"
grep 'weight hash' out | head -1 | diff seed.hash - || fail 'seed 7 is another run'
if full_tier; then
    for layout in '--pipeline-model-parallel-size 2 --schedule zb-h1' \
        '--tensor-model-parallel-size 2' --use-distributed-optimizer; do
        # shellcheck disable=SC2086 # several words
        medians 2 $layout
        diff first medians || fail "$layout: other medians"
    done
fi

# stopped NAME CODE REASON NEXT SEED...: the job ended with CODE for that reason,
# says which run is next, and has the directories of these seeds.
stopped() {
    local name=$1 code=$2
    printf 'mtlm-dag: %s\n' "stopped by $3" "$4" >want
    shift 4
    [ "$rc" -eq "$code" ] || fail "$name: exit code $rc: $(cat err)"
    sed -nE 's/(iteration) [0-9]+ of 6.*/\1/; /^mtlm-dag/p' err | diff want - \
        || fail "$name: $(cat err)"
    [ "$(find save -name 'seed-*' -printf '%f\n' | sort | xargs)" = "$*" ] || fail "$name: $(ls save)"
    ! grep -q '^published' out || fail "$name: medians: $(cat out)"
}
mkdir save
job 1 "${seeds[@]}" --exit-interval 4
stopped 'without --save' 0 '--exit-interval after iteration' \
    'the same command begins anew with seed 7; with --save DIR it would go on'
job 1 "${seeds[@]}" --save save --exit-interval 4
stopped 'in run 1' 0 '--exit-interval after iteration' \
    'the same command goes on with seed 7, run 1 of 3' seed-7
well 1 "${of[@]}" --seeds 7 --save save

# signalled SIGNAL LINE REASON: the job on one rank gets the signal after it has
# printed a line that begins so, and stops for REASON.  The signal may come late on
# a busy machine, which gets three chances.
mkfifo lines
signalled() {
    local line
    for _ in 1 2 3; do
        rm -rf save/seed-[89]
        env --default-signal=INT,TERM "$program" "${seeds[@]}" --save save \
            >lines 2>err </dev/null &
        while IFS= read -r line; do
            printf '%s\n' "$line"
            case $line in "$2"*) kill "-$1" $! ;; esac
        done <lines >out
        wait $!
        rc=$?
        ! grep -q "stopped by $3" err || break
    done
}
# Nothing is left to train of seed 7: run 1 does not heed a signal, nor the time.
next='the same command goes on with seed 8, run 2 of 3'
signalled TERM 'seed 7, run 1' 'a signal after run 1'
stopped 'between two runs' 75 'a signal after run 1 of 3' "$next" seed-7
job 1 "${seeds[@]}" --save save --exit-duration-in-mins 1e-4
stopped 'at the time limit' 0 '--exit-duration-in-mins after run 1 of 3' "$next" seed-7
signalled INT 'seed 8, run 2' 'a signal after iteration'
stopped 'in run 2' 75 'a signal after iteration' "$next" seed-7 seed-8
grep -q '^checkpoint: iteration . saved' out || fail "in run 2 nothing is saved: $(cat out)"

medians 1 --save save
diff first medians || fail 'other medians after the stops'
[ "$(grep -c '^nothing is left to train: .*; a larger --epochs' out)" -eq 1 ] \
    || fail "runs that were finished: $(cat out)"
medians 1 --save save
diff first medians || fail 'other medians of the same runs'
[ "$(grep -c '^nothing is left to train: ' out)" -eq 3 ] || fail "trained again: $(cat out)"
[ -z "$(scores)" ] || fail "evaluated again: $(scores)"

# other_seeds WORDS OPTION...: rank 1 has other options than rank 0, and says so.
other_seeds() {
    # shellcheck disable=SC2086 # several words
    timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n 1 "$program" "${seeds[@]}" \
        : -n 1 "$program" "${of[@]}" "${@:2}" >out 2>err </dev/null
    rc=$?
    [ $rc -eq 2 ] && ! grep -q '^seed' out && [ "$(cat err)" = \
        "mtlm-dag: rank 1 was started with other settings than rank 0: $1, not --seeds 7,8,9" ] \
        || fail "${*:2}: exit code $rc: $(cat out err)"
}
refuses_at_once
other_seeds '--seeds 7,8' --seeds 7,8
other_seeds 'no --seeds' --seed 7
finish
