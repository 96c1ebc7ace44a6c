#!/bin/bash
# Traces of simulations, with the readers of a run's traces.  make check-full:
# a trillion parameters on 3072 ranks in ten seconds of one core and a GiB.
set -u
scripts=$(realpath "${srcdir:-.}/tests/mpi")
clusters=$(realpath "${srcdir:-.}/launch/clusters")
files='dag.dot data.rec deps.csv paje.trace schedule.csv schedule.svg starvz.yaml summary.json tasks.rec trace.json'
. "${srcdir:-.}/tests/mpi/common.sh"

simulate=(--simulate "$clusters/dgx-a100.ini" --model gpt2-345m --num-layers 8
    --fp16 --world-size 16 --tensor-model-parallel-size 2
    --pipeline-model-parallel-size 4 --micro-batch-size 1
    --global-batch-size 16 --metrics lines)

# check_trace WHAT: ten files, edges and events as of a run, and the bubble of
# the simulation.
check_trace() {
    local name
    [ "$(ls -A trace | tr '\n' ' ')" = "$files " ] || fail "$1: $(ls -A trace)"
    for name in events deps; do
        "${PYTHON:-python3}" "$scripts/trace_$name.py" trace \
            || fail "$1: trace_$name.py"
    done
    "${builddir:-.}/mtlm-report" trace >report 2>&1 || fail "$1: $(cat report)"
    grep -q '^Schedule of iterations 1 to 1: ' report || fail "$1: $(cat report)"
    "${PYTHON:-python3}" -c '
import json
said = json.loads(open("lines").read().splitlines()[-1])["simulation"]
drawn = json.load(open("trace/summary.json"))
assert abs(said["bubble"] - drawn["bubble_fraction"]) < 1e-6, said
assert abs(1e3 * said["iteration_s"] - drawn["makespan_ms"]) < 1e-3, said
' || fail "$1: another bubble, or another time"
}

well 1 "${simulate[@]}" --trace trace
grep -q '^Trace in trace: microbatches 1 to 8 of 8, \([0-9]*\) of \1 nodes$' out \
    || fail "whole: $(tail -n 1 out)"
check_trace whole
mv trace/summary.json whole.json
job 1 "${simulate[@]}" --trace trace
[ "$rc" -eq 4 ] && grep -q 'needs a new directory, or an empty one' err \
    || fail "used directory: exit code $rc, $(cat err)"
rm -r trace

# With state on a disk: a row of loads and stores, and waits for them.
cat "$clusters/amd-epyc-core.ini" - >core.ini <<'END'
[host]
latency_us = 100
gb_per_s = 3
END
well 1 --simulate core.ini --model gpt-tiny --num-layers 8 \
    --pipeline-model-parallel-size 2 --micro-batch-size 1 \
    --global-batch-size 8 --workers 1 --offload all --metrics lines --trace trace
check_trace offloaded
grep -q ',LOAD,.*,disk,' trace/schedule.csv || fail 'offloaded: no load'
grep -q 'disk load, store' trace/schedule.svg || fail 'offloaded: no row'
grep -q 'for a load from the disk' report || fail "offloaded: $(cat report)"
rm -r trace

# Outputs are looked at before layouts are: no layout fits on two devices.
mkdir used && : >used/file
job 1 --simulate "$clusters/dgx-a100.ini" --model gpt-1t --fp16 --world-size 2 \
    --trace used
[ "$rc" -eq 4 ] && grep -q 'used: holds file already' err \
    || fail "used directory, no layout: exit code $rc, $(cat err)"
job 1 "${simulate[@]}" --metrics none/lines --trace trace
[ "$rc" -eq 4 ] && [ ! -s out ] && [ ! -e trace ] \
    && grep -q 'none/lines: cannot be written: No such' err \
    || fail "metrics: exit code $rc, $(ls) $(cat out err)"
job 1 "${simulate[@]}" --metrics /dev/full
[ "$rc" -eq 4 ] && ! grep -q training err \
    && grep -q '/dev/full lacks the numbers of the simulation' err \
    || fail "full: exit code $rc, $(cat err)"

# A full disk: no part of a trace is left, and the line of --metrics is.
(ulimit -f 100 && job 1 "${simulate[@]}" --trace trace
    [ "$rc" -eq 4 ] && [ ! -e trace ] \
        && grep -q 'File too large; no part of the trace is left$' err) \
    || fail "full disk: exit code $rc, $(ls -A trace) $(cat err)"

# A signal while the trace is written: nothing of the trace is left.
rm lines
"$program" "${simulate[@]}" --global-batch-size 2000 --trace trace \
    --trace-microbatches 1:1000 >out 2>err &
for ((i = 0; i < 2000 * TIME_SCALE; i++)); do
    compgen -G 'trace/*.tmp' >/dev/null && break
    sleep 0.01
done
kill -TERM $!
wait $!
rc=$?
[ $rc -eq 143 ] && [ ! -e trace ] && [ -s lines ] \
    || fail "signal: exit code $rc, $(ls . trace) $(cat err)"

# A signal between two files of a graph: none of them is left.
"$program" "${simulate[@]}" --global-batch-size 2000 --graph-out graph.et \
    >out 2>err &
for ((i = 0; i < 2000 * TIME_SCALE; i++)); do
    [ -e graph.0.et ] && break
    sleep 0.01
done
kill -TERM $!
wait $!
rc=$?
[ $rc -eq 143 ] && ! compgen -G 'graph*' >/dev/null \
    || fail "signal: exit code $rc, $(ls) $(cat err)"

# A cluster file that can be read only once.
mkfifo once
cat "$clusters/dgx-a100.ini" >once &
timeout $((60 * TIME_SCALE)) "$program" --simulate once --model gpt-tiny >out 2>err \
    && grep -q 'assumed  *in once: unknown, a pipe' out \
    || fail "pipe: $(cat out err)"
wait

# A part of the microbatches, and the optimizer.
well 1 "${simulate[@]}" --trace trace --trace-microbatches 3:4
check_trace part
"${builddir:-.}/mtlm-report" trace --svg part.svg >said 2>&1 \
    && grep -q 'F microbatch 2, ' part.svg || fail "part: picture: $(cat said)"
"${PYTHON:-python3}" -c '
import csv, re
rows = list(csv.DictReader(open("trace/schedule.csv")))
assert {r["microbatch"] for r in rows} == {"-1", "2", "3"}, rows[0]
assert {r["rank"] for r in rows} == set("0123")
named = re.findall(r"rank ([0-9]+)", open("report").read())
assert named and set(named) <= set("0123"), named
' || fail "part: other microbatches or ranks"
# The summary is of the whole iteration, but for what needs the edges.
"${PYTHON:-python3}" -c '
import json
def rest(path):
    summary = json.load(open(path))
    del summary["run"]["policy"], summary["nodes"], summary["edges"]
    for part in summary, *summary["iterations"]:
        for name in "critical_path", "critical_path_communication", "lower_bound":
            part.pop(name + "_ms", None)
    return summary
whole, part = rest("whole.json"), rest("trace/summary.json")
other = [k for k in whole.keys() | part.keys() if whole.get(k) != part.get(k)]
assert not other, other
' || fail "part: another summary"
rm -r trace
job 1 "${simulate[@]}" --trace trace --trace-microbatches 3:9
[ "$rc" -eq 2 ] && [ ! -e trace ] \
    && grep -q '3:9 goes beyond the 8 microbatches of an iteration' err \
    || fail "beyond: exit code $rc, $(cat err)"

# published OPTION...: the fastest layout of published code on 64 GPUs, as tensor
# and pipeline size and micro batch.
published() {
    well 1 --simulate "$clusters/dgx-a100.ini" --as 2021 --fp16 --num-layers 32 \
        --num-attention-heads 128 --seq-length 2048 --vocab-size 51200 \
        --train-iters 1 --lr 1e-4 --recompute-granularity full \
        --world-size 64 "$@"
    awk '/^Fastest layouts/ { seen = NR } seen && NR == seen + 2 {
            print $1, $2, $5 }' out
}

# The choices of arXiv 2104.04473: figure 13, and figure 16 at 8 x 8.
if full_tier; then
    choice=$(published --hidden-size 20480 --global-batch-size 32 \
        --micro-batch-size 1)
    [ "$choice" = '8 8 1' ] || fail "figure 13: $choice"
    for batch in 128 512; do
        for b in 1 2 4 8; do
            published --hidden-size 15360 --global-batch-size $batch \
                --tensor-model-parallel-size 8 --ignore-memory \
                --pipeline-model-parallel-size 8 --micro-batch-size $b
            sed -n "s/^time  *\([^ ]*\) s an iteration.*/\1 $b/p" out
        done | sort -g | head -n 1 >best
        [ "$(cut -d' ' -f2 best)" = 2 ] || fail "figure 16: $(cat best)"
    done
fi

if full_tier && ! sanitized; then
    cat >measure.py <<'END'
import os, resource, subprocess, sys
rc = subprocess.run(sys.argv[1:], check=False).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = used.ru_utime + used.ru_stime
print(f"{seconds:.1f} s, {used.ru_maxrss / 1024:.0f} MiB", file=sys.stderr)
limit = 10 * int(os.environ["TIME_SCALE"]) / 3
sys.exit(rc or seconds > limit or used.ru_maxrss > 1 << 20)
END
    for code in '' '--as 2021 --ignore-memory'; do
        # shellcheck disable=SC2086 # several words
        "${PYTHON:-python3}" measure.py "$program" --simulate \
            "$clusters/dgx-a100.ini" --fp16 --world-size 3072 --model gpt-1t \
            --tensor-model-parallel-size 8 --pipeline-model-parallel-size 64 \
            --micro-batch-size 1 --global-batch-size 3072 \
            --recompute-granularity full $code >out 2>err \
            || fail "$code: $(cat err)"
        grep -q '^time  .* s an iteration: ' out || fail "no time in $(cat out)"
        cat err
    done
fi

finish
