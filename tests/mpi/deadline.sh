#!/bin/bash
# A rank that hangs or dies takes the job with it: a stopped one within the
# deadline and 5 s, at the start, in training or at the end; a killed one within
# 5 s. TIME_SCALE multiplies these limits of the test. The sentence names what
# was waited for, the exit code is 7, nothing is left running. A rank that only
# takes long, to compute or to write, takes as long as it likes.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/processes.sh"
. "${srcdir:-.}/tests/mpi/synthetic_common.sh" || exit

deadline 6

# missed NAME WORDS: the job must end because the deadline was missed.
missed() {
    ended_within $((6 + 5)) "$1"
    [ $rc -eq 7 ] || fail "$1: exit code $rc: $(cat err)"
    grep -q "^mtlm-dag: .*waited [0-9.]* s for .*$2.*distributed-timeout-minutes" \
        err || fail "$1: $(cat err)"
}

# stopped T P RANK [OPTION...]: that rank, while all train.
stopped() {
    layout "$1" "$2"
    read -ra mpirun <<<"$MPIRUN -q -n $ranks"
    start "${mpirun[@]}" "$program" "${small[@]}" "${parallel[@]}" \
        --train-iters 100000 "${deadline[@]}" "${@:4}"
    within 60 iterated || fail "no iterations: $(cat err)"
    kill -STOP "${pids[$3]}"
    missed "T$1 x P$2, rank $3 stopped" \
        '\(the order of\|in iteration [0-9]*, stage [0-9]\)'
    sed -n 's/^\(mtlm-dag.*waited.*\)/  \1/p' err | head -1
}

# All of them stopped for longer than the deadline, as a batch system does: they
# go on where they were.
kill_all() {
    for pid in "${pids[@]}"; do
        kill "-$1" "$pid"
    done
}
went_on() {
    [ "$(losses out | wc -l)" -ge $((before + 10)) ]
}
paused() {
    layout 2 2
    read -ra mpirun <<<"$MPIRUN -q -n $ranks"
    start "${mpirun[@]}" "$program" "${small[@]}" "${parallel[@]}" \
        --train-iters 100000 "${deadline[@]}"
    within 60 iterated || fail "no iterations: $(cat err)"
    kill_all STOP
    sleep "$(scaled 8)"
    before=$(losses out | wc -l)
    kill_all CONT
    within 60 went_on || fail "stopped as a whole: does not go on: $(cat err)"
    kill_all TERM
    ended_within 60 "all ranks stopped for a while"
    [ $rc -eq 75 ] || fail "all ranks stopped for a while: exit code $rc"
}

# One that stops before MPI has started.
at_start() {
    layout 1 2
    cat >stopped <<END
#!/bin/bash
kill -STOP \$\$
exec $program "\$@"
END
    chmod +x stopped
    options=("${small[@]}" "${parallel[@]}" --train-iters 3 "${deadline[@]}")
    # shellcheck disable=SC2086 # several words
    $MPIRUN -q -n 1 "$program" "${options[@]}" \
        : -n 1 ./stopped "${options[@]}" >out 2>err </dev/null &
    job=$!
    within 30 pgrep -P $job >/dev/null || fail "mpirun does not start"
    pids=($(descendants $job))
    missed "a rank stopped at the start" 'all ranks to start'
}

# One that leaves before MPI has started: the others soon say that they wait.
# Where the others have called MPI before, Open MPI ends the job itself, with 1.
left_early() {
    local first=(--print-config --model gpt-tiny) program_of_first=$program
    layout 1 3
    [ "$1" = --print-config ] || first=() program_of_first=$1
    # shellcheck disable=SC2086 # several words
    $MPIRUN -q -n 1 "$program_of_first" "${first[@]}" \
        : -n 2 "$program" "${small[@]}" "${parallel[@]}" --train-iters 3 \
        --distributed-timeout-minutes 0.3 >out 2>err </dev/null &
    job=$!
    within 10 eval '[ "$(grep -c "^mtlm-dag: rank [12] has waited for all ranks to start" err)" -eq 2 ] || ! kill -0 $job 2>/dev/null'
    if ! kill -0 $job 2>/dev/null; then
        wait $job
        rc=$?
        [ $rc -eq 1 ] || fail "$1: Open MPI ends with $rc: $(cat err)"
        return
    fi
    grep -q '^mtlm-dag: rank [12] has waited for all ranks to start' err \
        || fail "$1: the others do not say that they wait: $(cat err)"
    pids=($(descendants $job))
    ended_within 30 "$1"
    [ $rc -eq 7 ] || fail "$1: exit code $rc: $(cat err)"
}

# Rank 0 hangs while it writes what is left to write: nobody reads.
at_end() {
    layout 1 2
    start $MPIRUN -q -n 2 "$program" "${small[@]}" "${parallel[@]}" \
        --train-iters 100000 --trace-iterations 1:1 --trace trace \
        "${deadline[@]}"
    within 60 iterated || fail "no iterations: $(cat err)"
    mkfifo trace/schedule.csv.tmp
    kill -TERM "${pids[0]}"
    missed "a rank that hangs at the end" 'all ranks to'
}

# A slow one: rank 1 waits longer than the deadline while rank 0 computes, and
# again while it writes, each of its files being read late.
slow() {
    layout 1 2
    cluster slow.ini 10
    sed -i "s/^forward_ms.*/forward_ms = $(scaled 700)/" slow.ini
    files=(slow/schedule.csv.tmp slow/summary.json.tmp)
    rm -f out
    within 60 grep -q '^layout:' out && mkfifo "${files[@]}" &
    start $MPIRUN -q -n 2 "$program" "${pretend[@]}" "${parallel[@]}" \
        --num-layers 2 --global-batch-size 1 --train-iters 1 \
        --trace-iterations 1:1 --synthetic slow.ini --slow-rank 0:0.1 \
        --trace slow "${deadline[@]}"
    within 60 grep -q '^iteration 1/' out || fail "slow stage: $(cat out err)"
    for file in "${files[@]}"; do
        sleep "$(scaled 3.3)"
        timeout $((5 * TIME_SCALE)) cat "$file" >>read
    done
    ended_within 5 "slow stage, slow files"
    [ $rc -eq 0 ] || fail "slow stage, slow files: exit code $rc: $(cat err)"
    grep -q bubble read || fail "slow files: $(cat read)"
}

# One that is gone.
killed() {
    layout 2 2
    start $MPIRUN -q -n 4 "$program" "${small[@]}" "${parallel[@]}" \
        --train-iters 100000
    within 60 iterated || fail "no iterations: $(cat err)"
    kill -KILL "${pids[2]}"
    ended_within 5 "T2 x P2, rank 2 killed"
    [ $rc -eq 137 ] || fail "T2 x P2, rank 2 killed: exit code $rc"
}

# They wait more than they compute, and most of them for longer than a busy
# machine could hold them up.
at_once=3
beside stopped 2 2 0
if full_tier; then
    beside stopped 2 1 1
    beside stopped 2 2 3 --comm-node task
fi
beside slow
beside at_end
beside left_early --print-config
! full_tier || beside left_early /bin/true
together

# The time counts.
killed
paused
at_start

finish
