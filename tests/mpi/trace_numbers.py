"""The numbers of summary.json, from the tables beside it and by the definitions
of man/mtlm-report.1: python3 trace_numbers.py DIR."""
import collections
import csv
import json
import sys

import trace_bubble

dir = sys.argv[1]
summary = json.load(open(dir + "/summary.json"))
wrong = 0


def expect(name, mine, theirs, absolute=1e-5, relative=1e-6):
    global wrong
    # Nor is a NaN right.
    if not abs(mine - theirs) <= absolute + relative * abs(theirs):
        wrong += 1
        print(name, "is", mine, "and in summary.json", theirs)


bubble, overlap = trace_bubble.bubble_and_overlap(dir + "/schedule.csv")
expect("bubble", bubble, summary["bubble_fraction"])
expect("overlap", overlap, summary["overlap_fraction"])
# Promised to be short.
with open(trace_bubble.__file__) as file:
    lines = file.read().splitlines()
if len(lines) > 30 or max(map(len, lines)) > 79:
    wrong += 1
    print(len(lines), "lines of trace_bubble.py")

# ---- where the time of each worker goes, with deps.csv ----
rows = list(csv.DictReader(open(dir + "/schedule.csv")))
window = collections.defaultdict(dict)  # ends of the iterations of a rank
for r in rows:
    r["start"], r["end"] = float(r["start_us"]), float(r["end_us"])
    if r["phase"] == "OPT":
        ends = window[r["rank"]]
        ends[r["iteration"]] = max(ends.get(r["iteration"], 0), r["end"])
for rank, ends in window.items():
    window[rank] = min(ends.values()), max(ends.values())
node = {r["rank"] + "_" + r["job"]: r for r in rows}
before = collections.defaultdict(list)
for d in csv.DictReader(open(dir + "/deps.csv")):
    if d["job"] in node and d["depends_on"] in node:
        before[d["job"]].append(d["depends_on"])
assert len(before) > len(rows) / 2, "nodes wait for nothing"


def inside(rank, a, b):
    first, last = window[rank]
    return max(0, min(b, last) - max(a, first))


lanes = collections.defaultdict(list)
for id, r in node.items():
    if r["lane"] == "compute":
        lanes[r["rank"], r["worker"]].append((r["start"], r["end"],
                                              int(r["job"]), id))
accounts = {(str(a["rank"]), str(a["worker"])): a
            for a in summary["accounts"]}
for key in accounts:
    lanes[key]  # one on a busy machine may have run nothing
assert accounts.keys() == lanes.keys(), "workers"
for (rank, worker), lane in lanes.items():
    time = collections.Counter()
    last = window[rank][0]
    for start, end, _, id in sorted(lane):
        time["compute_ms"] += inside(rank, start, end)
        ready = min(max(float(node[id]["ready_us"]), last), start)
        cause = max((node[b] for b in before[id]), default=None,
                    key=lambda b: b["end"])
        time["runtime_ms" if not cause or cause["end"] <= last
             else "wait_data_ms" if cause["lane"] == "compute"
             else "wait_communication_ms"] += inside(rank, last, ready)
        time["runtime_ms"] += inside(rank, ready, start)
        last = max(last, end)
    time["idle_ms"] += inside(rank, last, window[rank][1])
    theirs = accounts[rank, worker]
    for key in ("compute_ms", "wait_data_ms", "wait_communication_ms",
                "runtime_ms", "idle_ms"):
        expect(f"rank {rank} worker {worker} {key}", time[key] / 1e3,
               theirs[key], absolute=0.01)
    all = sum(theirs[key] for key in theirs if key.endswith("_ms")) \
        - theirs["window_ms"]
    if not abs(all - theirs["window_ms"]) <= 0.01 * theirs["window_ms"]:
        wrong += 1
        print("rank", rank, "worker", worker, "spent", all, "ms of",
              theirs["window_ms"])

# ---- the longest chain of nodes of an iteration ----
meeting = collections.defaultdict(float)  # when all had come to a message


def message(r):
    if r["lane"] == "compute":
        return None
    if r["group"] != "-1":
        return r["group"], r["group_root"], r["match"]
    ends = (r["rank"], r["peer"])
    return ends[::1 if r["op"] == "SEND" else -1] + (r["match"],)


for r in rows:
    if r["lane"] != "compute":
        meeting[message(r)] = max(meeting[message(r)], r["start"])
for r in rows:
    begin = r["start"] if r["lane"] == "compute" else meeting[message(r)]
    r["took"] = r["end"] - min(begin, r["end"])
chain = {}  # up to the begin of a node


def training(r):
    return r["phase"] not in ("INIT", "EVAL")


def up_to(first):
    """Without recursion: chains are long."""
    stack = [first]
    while stack:
        id = stack[-1]
        r = node[id]
        on = [b for b in before[id] if training(node[b])
              and node[b]["iteration"] == r["iteration"]]
        missing = [b for b in on if b not in chain]
        if missing:
            stack += missing
            continue
        # Nodes of one message are under way together.
        chain[id] = max((chain[b] + (0 if node[b]["rank"] != r["rank"]
                                     and message(node[b]) == message(r)
                                     else node[b]["took"]) for b in on),
                        default=0)
        stack.pop()
    return chain[first]


longest = collections.defaultdict(float)
for id, r in node.items():
    if training(r):
        i = int(r["iteration"])
        longest[i] = max(longest[i], up_to(id) + r["took"])
for e in summary["iterations"]:
    expect("critical path", longest[e["iteration"]] / 1e3,
           e["critical_path_ms"], absolute=0.001)
    mine = [r for r in rows if training(r)
            and int(r["iteration"]) == e["iteration"]]
    took = max(r["end"] for r in mine) - min(r["start"] for r in mine)
    if not 0 < e["critical_path_ms"] <= 1.01 * took / 1e3:
        wrong += 1
        print("critical path of iteration", e)
for rank in summary["ranks"]:
    counted = {str(e["iteration"]) for e in summary["iterations"]
               if e["counts"]}
    work = sum(r["end"] - r["start"] for r in rows
               if r["rank"] == str(rank["rank"]) and r["lane"] == "compute"
               and training(r) and r["iteration"] in counted)
    expect(f"area bound of rank {rank['rank']}",
           work / 1e3 / rank["workers"] / len(counted), rank["area_bound_ms"],
           absolute=0.001)
bound = [max(e["critical_path_ms"], e["most_work_ms"])
         for e in summary["iterations"] if e["counts"]]
expect("lower bound", sum(bound) / len(bound), summary["lower_bound_ms"])
print(dir, "bubble", bubble, "overlap", overlap, "wrong", wrong)
sys.exit(wrong > 0)
