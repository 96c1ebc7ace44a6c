#!/bin/bash
# --graph-out: StarPU's replay runs the graph in the time of the simulation;
# tasks, durations and dependencies are those of the trace.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

cluster=$(cd "${srcdir:-.}" && pwd)/launch/clusters/dgx-a100.ini
jobs=(--model gpt2-345m --num-layers 8 --fp16 --world-size 16
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4
    --micro-batch-size 1 --global-batch-size 16)
simulate=(--simulate "$cluster" "${jobs[@]}")
refused_job 2 '--graph-out is for --simulate' "${jobs[@]}" --graph-out g.rec
refused_job 2 'contradicts --dry-run' "${simulate[@]}" --dry-run --graph-out g.rec
refused_job 2 'must end in .rec' "${simulate[@]}" --graph-out g.txt
refused_job 2 'must end in .rec or .et' "${simulate[@]}" --graph-out graph
refused_job 4 'cannot write --graph-out none/g.rec: No such' "${simulate[@]}" \
    --graph-out none/g.rec
refused_job 4 'cannot write --graph-out none/g.et: No such' "${simulate[@]}" \
    --graph-out none/g.et
mkdir folder.rec
refused_job 4 'cannot write --graph-out folder.rec: Is a directory' \
    "${simulate[@]}" --graph-out folder.rec
[ ! -s out ] || fail "a simulation for nothing: $(cat out)"

# One rank is no plural.
well 1 --simulate "$cluster" --model gpt-tiny --world-size 1 --graph-out one.rec
grep -q ' tasks of 1 rank$' out || fail "one rank: $(tail -n 1 out)"

cat >check.py <<'END'
# Compares graph.rec with the tasks of a trace.
import json
from collections import Counter

def read(path):
    with open(path, encoding="utf-8") as file:
        return [dict(line.split(": ", 1) for line in record.split("\n"))
                for record in file.read().strip().split("\n\n")]

def ns(text):
    return round(float(text) * 1e6)

def computed(tasks):
    return Counter((t["Name"], t["MPIRank"], t["Parameters"],
                    ns(t["StartTime"]), ns(t["EndTime"])) for t in tasks)

def edges(tasks):
    """Edges within ranks from computation to computation, or to a send."""
    by = {t["JobId"]: t for t in tasks}
    place = lambda t: (t["Name"], t["MPIRank"], ns(t["EndTime"]))
    return Counter((place(t), place(by[on])) for t in tasks
                   for on in t.get("DependsOn", "").split()
                   if t["Name"] not in messages
                   and by[on]["MPIRank"] == t["MPIRank"]
                   and by[on]["Name"] not in messages - {"send"})

graph, trace = read("graph.rec"), read("trace/tasks.rec")
lines = [json.loads(line) for line in open("lines", encoding="utf-8")]
assert lines[-1]["simulation"]["evaluated_nodes"] == len(trace)
# A message of the trace has no worker.
messages = {t["Name"] for t in trace if t["WorkerId"] == "-1"}
assert {"send", "recv"} < messages, messages
mine = [t for t in graph if t["Name"] not in messages]
nodes = [t for t in trace if t["Name"] not in messages]
assert computed(mine) == computed(nodes), "computation differs"
assert edges(graph) == edges(trace), "edges differ"
ends = Counter(t["Name"] for t in trace)
tasks = Counter(t["Name"] for t in graph)
assert tasks["send"] == ends["send"] == ends["recv"] > 0, tasks
assert tasks["recv"] == 0, "a receive is a task of its own"
on = []
for i, t in enumerate(graph):
    assert t["JobId"] == t["SubmitOrder"] == str(i + 1), t
    before = [int(j) for j in t.get("DependsOn", "").split()]
    assert len(set(before)) == len(before), t
    for j in before:
        assert 1 <= j <= i, t
        assert ns(graph[j - 1]["EndTime"]) <= ns(t["StartTime"]), t
    if t["Name"] == "send":
        assert {"R", "W"} <= set(t["Modes"].split()), t
        assert any(graph[j - 1]["MPIRank"] == t["MPIRank"] for j in before), t
        on.append(i + 1)
after = {j: t["MPIRank"] for t in graph if t["Name"] != "send"
         for j in map(int, t.get("DependsOn", "").split())
         if t["MPIRank"] != graph[j - 1]["MPIRank"]}
assert set(on) <= set(after), "a receiver does not wait for its message"
END

# replay: prints the milliseconds that StarPU's replay takes for graph.rec on
# four workers of each of four ranks.  The replay takes milliseconds of the file
# for microseconds.
replay() {
    local at=home/bus/mtlm cpu
    mkdir -p home/bus
    {
        echo "<?xml version='1.0'?>"
        echo '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
        echo '<platform version="4.1"><AS id="AS0" routing="None">'
        for cpu in MAIN RAM CPU{0..15}; do
            echo "<host id=\"$cpu\" speed=\"1Gf\"/>"
        done
        echo '</AS></platform>'
    } >$at.platform.v4.xml
    : >$at.config
    echo 0 >$at.latency
    echo 0 >$at.bandwidth
    awk '/^(Start|End)Time: / { printf "%s %.3f\n", $1, 1000 * $2; next }
         { print }' graph.rec >scaled.rec
    STARPU_HOME=$PWD/home STARPU_PERF_MODEL_DIR=$PWD/home STARPU_HOSTNAME=mtlm \
        STARPU_NCPU=16 STARPU_NCUDA=0 STARPU_SCHED=prio \
        STARPU_SIMGRID_TASK_SUBMIT_COST=0 STARPU_SIMGRID_TASK_PUSH_COST=0 \
        STARPU_SIMGRID_FETCHING_INPUT_COST=0 \
        timeout -k 5 $((60 * TIME_SCALE)) "$replay" scaled.rec 2>replay.err \
        | awk '$2 == "ms" { print $1 }'
}

replay=$(sed -n 's/^STARPU_SIMGRID_PREFIX = *//p' "$builddir/Makefile")
replay=${replay:+$replay/bin/starpu_replay}
for options in '--schedule 1f1b' '--as 2021' '--as 2021 --ours overlap'; do
    # shellcheck disable=SC2086 # several words
    well 1 "${simulate[@]}" $options --graph-out graph.rec --trace trace \
        --metrics lines
    grep -q "^Graph in graph.rec: $(grep -c '^JobId: ' graph.rec) tasks of 4 ran" \
        out || fail "$options: $(tail -n 1 out)"
    "${PYTHON:-python3}" check.py || fail "$options: check.py"
    if [ -x "$replay" ]; then
        ms=$(replay)
        awk -v ms="$ms" '/^time / { s = 1000 * $2; seen = 1 }
            END { exit !(seen && ms > 0.999 * s && ms < 1.03 * s) }' out \
            || fail "$options: replay ${ms:-fails}, $(grep '^time ' out)" \
                "$(tail -n 1 replay.err)"
    fi
    rm -r trace lines graph.rec
done

# Nodes of published code wait for the links before them, not for the runtime.
well 1 "${simulate[@]}" --as 2021 --trace trace
"${PYTHON:-python3}" - <<'END' || fail "--as 2021: the runtime"
import json
with open("trace/summary.json", encoding="utf-8") as file:
    causes = {wait["cause"] for wait in json.load(file)["waits"]}
assert causes and "runtime" not in causes, causes
END
rm -r trace

# A graph that cannot be written leaves no trace, either.
ln -s /dev/full g.rec.tmp
job 1 "${simulate[@]}" --trace trace --graph-out g.rec
[ "$rc" -eq 4 ] && [ ! -e trace ] && [ ! -e g.rec ] \
    && ! grep -q '^Trace in' out && grep -qx \
    'mtlm-dag: no trace is left in trace: cannot write g.rec: No space left on device' err \
    || fail "full disk: exit code $rc, $(ls -A . trace) $(cat err)"
mkdir trace
ln -s /dev/full g.rec.tmp
job 1 "${simulate[@]}" --trace trace --graph-out g.rec
[ "$rc" -eq 4 ] && [ -d trace ] && [ -z "$(ls -A trace)" ] \
    || fail "full disk, old directory: exit code $rc, $(ls -A trace) $(cat err)"
rmdir trace

# A graph that takes the place of another one, in part, leaves nothing of both.
# Before its first file is written, the other graph is whole.
well 1 "${simulate[@]}" --graph-out e.et
for rank in 0 3; do
    [ "$(echo e.*.et | wc -w)" -eq 16 ] && [ -s e.groups.json ] \
        || fail "rank $rank: old graph: $(echo e.*)"
    ln -s /dev/full "e.$rank.et.tmp"
    job 1 "${simulate[@]}" --graph-out e.et
    left=$([ $rank = 0 ] || echo '; no part of the graph is left')
    [ "$rc" -eq 4 ] && grep -qx \
        "mtlm-dag: cannot write e.$rank.et: No space left on device$left" err \
        || fail "rank $rank: exit code $rc, $(cat err)"
done
[ "$(echo e.*)" = 'e.*' ] || fail "left of two graphs: $(echo e.*)"
[ -x "$replay" ] || echo "no starpu_replay (launch/setup --simgrid): not read"
finish
