#!/bin/bash
# The records of a pipeline: one for each node that ran, in times that can be
# true.
set -u
scripts=$(realpath "${srcdir:-.}/tests/mpi")
files='dag.dot data.rec deps.csv paje.trace schedule.csv schedule.svg starvz.yaml summary.json tasks.rec trace.json'
. "${srcdir:-.}/tests/mpi/common.sh"

# check_trace DIR RANKS [MESSAGES]: of a microbatch from a rank to its peer, 1
check_trace() {
    "${PYTHON:-python3}" - "$@" <<'END'
import collections, csv, json, re, sys
import xml.etree.ElementTree as ElementTree

dir, ranks = sys.argv[1], int(sys.argv[2])
messages = int(sys.argv[3]) if len(sys.argv) > 3 else 1
CLOCK_US = 50  # how well the clocks of two ranks are known to agree
SLACK_US = 0.002  # times are rounded
bad = 0

def expect(so, *text):
    global bad
    if not so:
        bad += 1
        if bad < 10:
            print(*text)

rows = list(csv.DictReader(open(dir + "/schedule.csv")))
for r in rows:
    for key in "rank worker iteration microbatch layer job peer".split():
        r[key] = int(r[key])
    for key in "submit_us ready_us start_us end_us".split():
        r[key] = float(r[key])

def groups(*keys, rows=rows):
    made = collections.defaultdict(list)
    for r in rows:
        made[tuple(r[k] for k in keys)].append(r)
    return made

# Jobs are counted as they are submitted: no gap, nothing twice.
for (rank,), of_rank in groups("rank").items():
    jobs = sorted(r["job"] for r in of_rank)
    expect(jobs == list(range(jobs[0], jobs[0] + len(jobs))),
           "rank", rank, "lacks jobs, or has some twice")
expect(len(groups("rank")) == ranks, "ranks:", list(groups("rank")))
expect({r["iteration"] for r in rows} == {3, 4, 5}, "iterations traced")
for keys in ("rank",), ("rank", "op", "name"):
    for key, same in groups(*keys).items():
        n = {len(v) for v in groups("iteration", rows=same).values()}
        expect(len(n) == 1, key, "differs between iterations:", n)

for r in rows:
    expect(r["submit_us"] <= r["ready_us"] + SLACK_US
           and r["ready_us"] <= r["start_us"] + SLACK_US
           and r["start_us"] <= r["end_us"] + SLACK_US,
           "times out of order:", r)

# A worker does one thing at a time.
for worker, of_worker in groups("rank", "worker").items():
    of_worker.sort(key=lambda r: r["start_us"])
    for a, b in zip(of_worker, of_worker[1:]):
        expect(worker[1] < 0 or a["end_us"] <= b["start_us"] + SLACK_US,
               "two at a time:", a, b)

# Sends and receives of two ranks in one iteration and microbatch.
pairs = groups("rank", "peer", "iteration", "microbatch", "name",
               rows=[r for r in rows if r["name"] in ("send", "recv")])
expect(len(pairs) > 0, "no messages")
for (rank, peer, iteration, microbatch, name), here in pairs.items():
    there = pairs.get((peer, rank, iteration, microbatch,
                       "recv" if name == "send" else "send"), [])
    expect(len(here) == len(there) == messages, name,
           "without its other end:", here)
    expect(all(any(abs(int(h["stage"]) - int(t["stage"])) == 1 for t in there)
               for h in here), name, "to no neighbouring stage:", here)
    if name == "send" and there and messages == 1:
        expect(there[0]["end_us"] >= here[0]["start_us"] - CLOCK_US,
               "received before it was sent:", here, there)

# Each layer of each microbatch: backward when all of forward has ended.
phases = groups("rank", "iteration", "microbatch", "layer",
                rows=[r for r in rows if r["layer"] >= 0
                      and r["op"] in ("F", "B", "W")])
for key, nodes in phases.items():
    end = {op: max((r["end_us"] for r in nodes if r["op"] == op), default=None)
           for op in "FBW"}
    expect(None not in end.values(), key, "lacks", end)
    if None not in end.values():
        start = min(r["start_us"] for r in nodes if r["op"] != "F")
        expect(start >= end["F"] - SLACK_US, key, "backward before forward")
per_microbatch = {k[2]: len(v) for k, v in phases.items()}
expect(set(per_microbatch) == {0, 1, 2, 3}, "microbatches", per_microbatch)
expect(len(phases) == 3 * 4 * 4 * ranks // 2, "layers of all ranks")

summary = json.load(open(dir + "/summary.json"))

# The lines of the iterations that have a window, while the next one ran, say
# what is known in the end; what was still running then may be missing.
said = {int(m[1]): m[2] for m in re.finditer(
    r"^ \[.*\] iteration +(\d+)/(.*)$", open("out").read(), re.M)}
for e in summary["iterations"]:
    line = dict(re.findall(r" (bubble|overlap): ([0-9.]+) \|",
                           said.pop(e["iteration"])))
    expect(e["counts"] == ("bubble" in line), "bubble in", line, e)
    for name in line:
        expect(abs(float(line[name]) - e[name.replace("bubble", "bubble_fraction")
               .replace("overlap", "overlap_fraction")]) < 0.02, line, e)
expect(not any("bubble" in line for line in said.values()), "bubble in", said)
expect(0 <= summary["bubble_fraction"] < 1, "bubble")
expect(0 <= summary["stage_span_bubble"] < 1, "bubble of the stages")
expect(len(summary["ranks"]) == ranks, "ranks in the summary")
shares = [r["engine_share"] for r in summary["ranks"]]
expect(0 < min(shares) < 1, "communication threads' shares:", shares)
said = re.search(r"^communication thread: ([0-9.]+) % of a core \(rank (\d+), ",
                 open("out").read(), re.M)
expect(said and abs(float(said[1]) - 100 * max(shares)) < 0.006
       and shares[int(said[2])] == max(shares), "said:", said, "of", shares)
counts = collections.Counter(r["name"] for r in rows)
expect({o["name"]: o["count"] for o in summary["ops"]} == dict(counts),
       "counts in the summary:", summary["ops"], counts)
expect(ElementTree.parse(dir + "/schedule.svg").getroot().tag.endswith("svg"),
       "schedule.svg is none")
print(len(rows), "rows,", bad, "wrong, bubble", summary["bubble_fraction"])
sys.exit(bad > 0)
END
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

for sizes in '1 2' '2 2'; do
    layout $sizes
    for workers in 1 2; do
        well "$ranks" "${small[@]}" "${parallel[@]}" --train-iters 6 \
            --workers $workers --trace trace
        grep -q '^Schedule of iterations 3 to 5' out \
            || fail "$ranks ranks: no table: $(cat out)"
        [ "$(ls -A trace | tr '\n' ' ')" = "$files " ] \
            || fail "$ranks ranks: files $(ls -A trace)"
        check_trace trace "$ranks" || fail "$ranks ranks, $workers workers"
        check_with "$ranks ranks, $workers workers" events deps numbers
        check_report "$ranks ranks, $workers workers"
        rm -r trace
    done
done

# Virtual stages: neighbours on one rank exchange nothing.
for way in '--placement v 2' '--num-virtual-stages-per-pipeline-rank 2 3'; do
    layout 1 2
    # shellcheck disable=SC2086 # several words
    well 2 "${small[@]}" "${parallel[@]}" ${way% *} --train-iters 6 \
        --trace trace
    check_trace trace 2 "${way##* }" || fail "$way"
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

# A full disk: all is trained, the file that lacks is named, the others are
# whole.
rm -r trace
(
    until [ -d trace ]; do sleep 0.01; done
    ln -s /dev/full trace/trace.json.tmp
) &
job 2 "${small[@]}" "${parallel[@]}" --train-iters 6 --trace trace
[ "$rc" -eq 4 ] && [ "$(losses out | wc -l)" -eq 6 ] \
    || fail "full disk: exit code $rc, $(losses out | wc -l) iterations"
[ "$(cat err)" = 'mtlm-dag: the trace in trace lacks trace.json: No space left'`
    `' on device' ] || fail "full disk: $(cat err)"
[ ! -e trace/trace.json ] && [ ! -h trace/trace.json.tmp ] \
    || fail "full disk: $(ls trace)"
check_trace trace 2 || fail "full disk"

finish
