#!/bin/bash
# How a job ends before its time: asked by a signal, after the same iteration
# on all ranks; at the second signal or by mpirun's own Ctrl-C, soon; by the
# death of a rank, soon and as a whole.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

. "${srcdir:-.}/tests/mpi/processes.sh"
layout 1 2
endless=("${small[@]}" "${parallel[@]}" --train-iters 100000)
# Seconds for an iteration, so that the second signal comes before its end.
slow=(--model gpt-tiny --global-batch-size 128 --train-iters 3 --eval-iters 0
    "${parallel[@]}")

# interrupted NAME: ended well after a whole iteration, the same on both: rank
# 0 says which, the last rank has printed a line for each.
interrupted() {
    local said
    ended_within 60 "$1"
    said=$(sed -n 's/^mtlm-dag: stopped by a signal after iteration \([0-9]*\) of [0-9]*$/\1/p' err)
    [ $rc -eq 75 ] || fail "$1: exit code $rc: $(cat err)"
    [ "${said:-none}" = "$(losses out | wc -l)" ] \
        || fail "$1: \"$said\" on rank 0, $(losses out | wc -l) lines: $(cat err)"
}

read -ra mpirun <<<"$MPIRUN -q -n 2"

numbers=1
! full_tier || numbers='0 1'
for number in $numbers; do
    start "${mpirun[@]}" "$program" "${endless[@]}"
    within 60 iterated || fail "no iterations: $(cat err)"
    kill -TERM "${pids[number]}"
    interrupted "SIGTERM to rank $number"
done

start "${mpirun[@]}" "$program" "${endless[@]}"
within 60 iterated || fail "no iterations: $(cat err)"
kill -USR1 "$job"
interrupted "SIGUSR1 to mpirun"

for signal in INT TERM; do
    start "$srcdir/launch/run" -n 2 "$program" "${endless[@]}"
    within 60 iterated || fail "no iterations: $(cat err)"
    kill -$signal "$job"
    interrupted "SIG$signal to launch/run"
    grep -q 'all ranks stop, training after the same iteration' err || fail "launch/run says: $(cat err)"
done

# At a bare mpirun Ctrl-C promises an end only, within 3 s; most of them are
# mpirun's own, so that a busy machine gets three chances.
for chance in again again last; do
    start "${mpirun[@]}" "$program" "${endless[@]}"
    within 60 iterated || fail "no iterations: $(cat err)"
    kill -INT "$job"
    ended_within 30 "SIGINT to mpirun"
    [ $rc -ne 0 ] || fail "SIGINT to mpirun: exit code 0"
    awk "BEGIN { exit !($took > 3 * $TIME_SCALE) }" || break
    [ $chance = again ] || fail "SIGINT to mpirun: took $took s to end"
done

# A validation ends before its end, the same on both, and what was trained
# before it is saved, as it would have been later.
validating=(--eval-interval 3 --eval-iters 1000000)
for number in $numbers; do
    rm -rf v
    start "${mpirun[@]}" "$program" "${endless[@]}" "${validating[@]}" --save v
    within 60 iterated || fail "no iterations: $(cat err)"
    kill -TERM "${pids[number]}"
    ended_within 20 "SIGTERM to rank $number in a validation"
    [ $rc -eq 75 ] || fail "in a validation: exit code $rc: $(cat err)"
    grep -q 'stopped by a signal after iteration 3 of 100000, before the end of' \
        err || fail "in a validation: $(cat err)"
    [ -f v/iter_0000003/manifest.json ] || fail "in a validation: $(ls v)"
    grep -q 'validation loss' out && fail "a validation was cut: $(cat out)"
done

for number in $numbers; do
    start "${mpirun[@]}" "$program" "${endless[@]}"
    within 60 iterated || fail "no iterations: $(cat err)"
    kill -KILL "${pids[number]}"
    ended_within 5 "SIGKILL to rank $number"
    [ $rc -eq 137 ] || fail "SIGKILL to rank $number: exit code $rc"
done

# The second signal.  Two of the same could arrive as one.
start "${mpirun[@]}" "$program" "${slow[@]}"
kill -TERM "${pids[0]}"
kill -USR1 "${pids[0]}"
ended_within 5 "second signal to a rank"
[ $rc -eq 138 ] || [ $rc -eq 143 ] || fail "second signal: exit code $rc"
grep -q 'second signal, stopping now' err || fail "second signal: $(cat err)"

# A worker that hangs: one signal ends the job all the same.
if ! sanitized; then
    deadline 3
    start env LD_PRELOAD="${program%/*}/tests/mpi/stuck_blas.so" "${mpirun[@]}" \
        "$program" "${endless[@]}" "${deadline[@]}"
    kill -TERM "${pids[0]}"
    ended_within 20 "a signal to a worker that hangs"
    [ $rc -eq 7 ] || fail "a worker that hangs: exit code $rc: $(cat err)"
    grep -q 'no task has ended for .* s: a worker hangs' err \
        || fail "a worker that hangs: $(cat err)"
fi

start "$srcdir/launch/run" -n 2 "$program" "${slow[@]}"
kill -INT "$job"
within 20 grep -q 'once more' err || fail "launch/run says nothing: $(cat err)"
kill -INT "$job"
ended_within 8 "second SIGINT to launch/run"
case $rc in
0 | 75) fail "second SIGINT to launch/run: exit code $rc" ;;
esac

finish
