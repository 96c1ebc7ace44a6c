#!/bin/bash
# The records of a pipeline: one for each node that ran, in times that can be
# true.
set -u
scripts=$(realpath "${srcdir:-.}/tests/mpi")
files='dag.dot data.rec deps.csv paje.trace schedule.csv schedule.svg starvz.yaml summary.json tasks.rec trace.json'
. "${srcdir:-.}/tests/mpi/common.sh"

# check_schedule RANKS [MESSAGES]: of a microbatch from a rank to its peer, 1
check_schedule() {
    "${PYTHON:-python3}" "$scripts/trace_schedule.py" trace out "$@"
}

# check_with WHAT NAME...: trace_NAME.py of this folder
check_with() {
    local what=$1 name
    shift
    for name in "$@"; do
        "${PYTHON:-python3}" "$scripts/trace_$name.py" trace \
            || fail "$what: trace_$name.py"
    done
}

# check_report WHAT: mtlm-report prints the table that ended the run.
check_report() {
    "${builddir:-.}/mtlm-report" trace >report 2>&1 || fail "$1: $(cat report)"
    diff <(sed -n '/^Schedule of/,$p' out) <(sed -n '/^Schedule of/,$p' report) \
        || fail "$1: another table"
}

# nodes_of DIR: what ran, by rank, device or message, and place in the training.
nodes_of() {
    "${PYTHON:-python3}" -c '
import csv, sys
for r in csv.DictReader(open(sys.argv[1] + "/schedule.csv")):
    print(r["worker"] == "-1", *(r[k] for k in sys.argv[2:]))
' "$1" rank iteration microbatch stage layer op name lane peer bytes | sort
}

layouts=('2 2') several=2
if full_tier; then
    layouts=('1 2' '2 2') several='1 2'
fi
for sizes in "${layouts[@]}"; do
    layout $sizes
    for workers in $several; do
        well "$ranks" "${small[@]}" "${parallel[@]}" --train-iters 6 \
            --workers $workers --trace trace
        grep -q '^Schedule of iterations 3 to 5' out \
            || fail "$ranks ranks: no table: $(cat out)"
        [ "$(ls -A trace | tr '\n' ' ')" = "$files " ] \
            || fail "$ranks ranks: files $(ls -A trace)"
        check_schedule "$ranks" || fail "$ranks ranks, $workers workers"
        check_with "$ranks ranks, $workers workers" events deps numbers
        check_report "$ranks ranks, $workers workers"
        nodes_of trace >nodes
        rm -r trace
    done
done

# Messages as tasks of StarPU: the same nodes, each once and on its lane.
well "$ranks" "${small[@]}" "${parallel[@]}" --train-iters 6 --workers 2 \
    --comm-node task --trace trace
[ "$(ls -A trace | tr '\n' ' ')" = "$files " ] \
    || fail "--comm-node task: files $(ls -A trace)"
check_schedule "$ranks" || fail "--comm-node task"
check_with "--comm-node task" events deps numbers
check_report "--comm-node task"
nodes_of trace | diff nodes - >difference \
    || fail "--comm-node task: other nodes: $(head difference)"
rm -r trace

# Virtual stages: neighbours on one rank exchange nothing.
ways=('--num-virtual-stages-per-pipeline-rank 2 3')
! full_tier || ways+=('--placement v 2')
for way in "${ways[@]}"; do
    layout 1 2
    # shellcheck disable=SC2086 # several words
    well 2 "${small[@]}" "${parallel[@]}" ${way% *} --train-iters 6 \
        --trace trace
    check_schedule 2 "${way##* }" || fail "$way"
    check_with "$way" events deps numbers
    check_report "$way"
    [ "$(cut -d, -f1,6,7 trace/schedule.csv | grep -c '^0,0,0$')" -gt 0 ] \
        || fail "$way: no chunk 0 on rank 0"
    grep -q 'interleaved 1F1B of 4 stages' trace/schedule.svg \
        || fail "$way: no stages in the picture"
    rm -r trace
done

# Replicas that share moments, a batch that grows, validations in between.
layout 1 1 2
well 2 "${small[@]}" "${parallel[@]}" --use-distributed-optimizer \
    --rampup-batch-size 4 4 16 --global-batch-size 12 --train-samples 48 \
    --eval-interval 2 --eval-iters 2 --trace trace --trace-iterations 1:5
check_with replicas deps
check_report replicas
rm -r trace

# Other iterations when asked.
layout 1 2
well 2 "${small[@]}" "${parallel[@]}" --train-iters 3 --trace trace \
    --trace-iterations 2:2
[ "$(tail -n +2 trace/schedule.csv | cut -d, -f4 | sort -u)" = 2 ] \
    || fail "--trace-iterations 2:2"

grep -q ' bubble: ' out && fail "--trace-iterations 2:2: a bubble without a window"

# A validation is not part of the iteration after it.
rm -r trace
well 2 "${small[@]}" "${parallel[@]}" --train-iters 4 --trace trace \
    --trace-iterations 1:4 --eval-iters 1 --eval-interval 2 --metrics lines
[ "$(sed -n 's/.* iteration *\([0-9]*\)\/.* bubble: .*/\1/p' out | xargs)" = '2 4' ] \
    || fail "with validation: $(grep ' bubble: ' out)"
[ "$(grep -c '"bubble":0[.].*"overlap":0' lines)" -eq 2 ] \
    || fail "metrics: $(cat lines)"

# A full disk: the file that lacks is named, the others are whole.  The job goes
# on until the disk is full.  The code of rank 0 is 4, that of rank 1 says that a
# signal ended it; mpirun has either.
rm -r trace out
. "${srcdir:-.}/tests/mpi/processes.sh"
is_traced() {
    grep -q ' iteration  *6/' out
}
start $MPIRUN -q -n 2 "$program" "${small[@]}" "${parallel[@]}" \
    --train-iters 100000 --trace trace --trace-iterations 3:5
within 60 is_traced || fail "full disk: no iterations: $(cat out err)"
ln -s /dev/full trace/trace.json.tmp
kill -TERM "${pids[0]}"
ended_within 60 "full disk"
[ "$rc" -eq 4 ] || [ "$rc" -eq 75 ] || fail "full disk: exit code $rc"
grep '^mtlm-dag: ' err >said
grep -q '^mtlm-dag: stopped by a signal after iteration' said \
    || fail "full disk: $(cat err)"
[ "$(grep -v ' stopped by ' said)" = 'mtlm-dag: the trace in trace lacks'`
    `' trace.json: No space left on device' ] || fail "full disk: $(cat err)"
[ ! -e trace/trace.json ] && [ ! -h trace/trace.json.tmp ] \
    || fail "full disk: $(ls trace)"
check_schedule 2 || fail "full disk"

finish
