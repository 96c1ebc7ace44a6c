#!/usr/bin/python3
"""trace_schedule.py DIR LOG RANKS [MESSAGES]: do the records of DIR, iterations
3 to 5 of a job of RANKS whose output is LOG, have times that can be true, is
nothing missing, and do LOG's lines and DIR/summary.json say the same?  MESSAGES
of a microbatch go from a rank to its peer; 1 unless given."""

import collections
import csv
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

from checks import expect, finish

CLOCK_US = 50  # how well the clocks of two ranks are known to agree
SLACK_US = 0.002  # times are rounded


def read(directory):
    with open(directory + "/schedule.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for r in rows:
        for key in "rank worker iteration microbatch layer job peer".split():
            r[key] = int(r[key])
        for key in "submit_us ready_us start_us end_us".split():
            r[key] = float(r[key])
    return rows


def groups(rows, *keys):
    made = collections.defaultdict(list)
    for r in rows:
        made[tuple(r[k] for k in keys)].append(r)
    return made


def check_jobs(rows, ranks):
    """Jobs are counted as they are submitted: no gap, nothing twice, and as
    many in each iteration."""
    for (rank,), of_rank in groups(rows, "rank").items():
        jobs = sorted(r["job"] for r in of_rank)
        expect(jobs == list(range(jobs[0], jobs[0] + len(jobs))),
               "rank", rank, "lacks jobs, or has some twice")
    expect(len(groups(rows, "rank")) == ranks, "ranks:", ranks)
    expect({r["iteration"] for r in rows} == {3, 4, 5}, "iterations traced")
    for keys in ("rank",), ("rank", "op", "name"):
        for key, same in groups(rows, *keys).items():
            n = {len(v) for v in groups(same, "iteration").values()}
            expect(len(n) == 1, key, "differs between iterations:", n)


def check_times(rows):
    """In order, and a worker does one thing at a time."""
    for r in rows:
        expect(r["submit_us"] <= r["ready_us"] + SLACK_US
               and r["ready_us"] <= r["start_us"] + SLACK_US
               and r["start_us"] <= r["end_us"] + SLACK_US,
               "times out of order:", r)
    for worker, of_worker in groups(rows, "rank", "worker").items():
        of_worker.sort(key=lambda r: r["start_us"])
        for a, b in zip(of_worker, of_worker[1:]):
            expect(worker[1] < 0 or a["end_us"] <= b["start_us"] + SLACK_US,
                   "two at a time:", a, b)


def check_messages(rows, messages):
    """Sends and receives of two ranks in one iteration and microbatch."""
    pairs = groups([r for r in rows if r["name"] in ("send", "recv")],
                   "rank", "peer", "iteration", "microbatch", "name")
    expect(len(pairs) > 0, "no messages")
    for (rank, peer, iteration, microbatch, name), here in pairs.items():
        there = pairs.get((peer, rank, iteration, microbatch,
                           "recv" if name == "send" else "send"), [])
        expect(len(here) == len(there) == messages, name,
               "without its other end:", here)
        expect(all(any(abs(int(h["stage"]) - int(t["stage"])) == 1
                       for t in there) for h in here),
               name, "to no neighbouring stage:", here)
        if name == "send" and there and messages == 1:
            expect(there[0]["end_us"] >= here[0]["start_us"] - CLOCK_US,
                   "received before it was sent:", here, there)


def check_layers(rows, ranks):
    """Each layer of each microbatch: backward when all of forward has ended."""
    phases = groups([r for r in rows if r["layer"] >= 0
                     and r["op"] in ("F", "B", "W")],
                    "rank", "iteration", "microbatch", "layer")
    for key, nodes in phases.items():
        end = {op: max((r["end_us"] for r in nodes if r["op"] == op),
                       default=None) for op in "FBW"}
        expect(None not in end.values(), key, "lacks", end)
        if None not in end.values():
            start = min(r["start_us"] for r in nodes if r["op"] != "F")
            expect(start >= end["F"] - SLACK_US, key, "backward before forward")
    microbatches = {microbatch for _, _, microbatch, _ in phases}
    expect(microbatches == {0, 1, 2, 3}, "microbatches", microbatches)
    expect(len(phases) == 3 * 4 * 4 * ranks // 2, "layers of all ranks")


def check_lines(summary, log):
    """The lines of the iterations that have a window, while the next one ran,
    say what is known in the end; what was still running then may be
    missing."""
    said = {int(m[1]): m[2] for m in re.finditer(
        r"^ \[.*\] iteration +(\d+)/(.*)$", log, re.M)}
    for e in summary["iterations"]:
        line = dict(re.findall(r" (bubble|overlap): ([0-9.]+) \|",
                               said.pop(e["iteration"])))
        expect(e["counts"] == ("bubble" in line), "bubble in", line, e)
        for name in line:
            known = e[name + "_fraction"]
            expect(abs(float(line[name]) - known) < 0.02, line, e)
    expect(not any("bubble" in line for line in said.values()), "bubble in",
           said)


def check_summary(summary, log, rows, ranks):
    expect(0 <= summary["bubble_fraction"] < 1, "bubble")
    expect(0 <= summary["stage_span_bubble"] < 1, "bubble of the stages")
    expect(len(summary["ranks"]) == ranks, "ranks in the summary")
    shares = [r["engine_share"] for r in summary["ranks"]]
    expect(0 < min(shares) < 1, "communication threads' shares:", shares)
    said = re.search(r"^communication thread: ([0-9.]+) % of a core "
                     r"\(rank (\d+), ", log, re.M)
    expect(said and abs(float(said[1]) - 100 * max(shares)) < 0.006
           and shares[int(said[2])] == max(shares), "said:", said, "of",
           shares)
    counts = collections.Counter(r["name"] for r in rows)
    expect({o["name"]: o["count"] for o in summary["ops"]} == dict(counts),
           "counts in the summary:", summary["ops"], counts)


def main():
    directory, log, ranks, *messages = sys.argv[1:]
    ranks = int(ranks)
    rows = read(directory)
    with open(directory + "/summary.json") as file:
        summary = json.load(file)
    with open(log) as file:
        text = file.read()
    check_jobs(rows, ranks)
    check_times(rows)
    check_messages(rows, int(messages[0]) if messages else 1)
    check_layers(rows, ranks)
    check_lines(summary, text)
    check_summary(summary, text, rows, ranks)
    picture = ElementTree.parse(directory + "/schedule.svg")
    expect(picture.getroot().tag.endswith("svg"), "schedule.svg is none")
    finish(len(rows), "rows, bubble", str(summary["bubble_fraction"]) + ",")


main()
