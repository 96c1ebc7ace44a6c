#!/usr/bin/python3
"""trace_events.py DIR: is DIR/trace.json what viewers take, and does it hold
what DIR/schedule.csv does?"""

import collections
import csv
import json
import sys

NS = 1000  # times are in microseconds, with three decimals
bad = 0


def expect(so, *text):
    global bad
    if not so:
        bad += 1
        if bad < 10:
            print(*text)


def ns(us):
    return round(us * NS)


def read(directory):
    with open(directory + "/trace.json") as file:
        trace = json.load(file)
    with open(directory + "/schedule.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return trace["traceEvents"], rows


def check_tracks(events):
    """On one track events follow each other."""
    tracks = collections.defaultdict(list)
    for e in events:
        tracks[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["dur"]), e))
    for track, list_ in tracks.items():
        list_.sort(key=lambda e: e[:2])
        for (t, d, a), (u, _, b) in zip(list_, list_[1:]):
            expect(t + d <= u, "two at a time on", track, a, b)
    return set(tracks)


def check_names(events, tracks, ranks):
    names = {
        (e["name"], e["pid"], e.get("tid")): e["args"]["name"]
        for e in events
        if e["ph"] == "M" and e["name"] in ("process_name", "thread_name")
    }
    for rank in range(ranks):
        name = names.get(("process_name", rank, None), "")
        expect(name.startswith(f"rank {rank} (stage"), "process", name)
    of_rank = [
        (pid, names.get(("thread_name", pid, tid))) for pid, tid in tracks
    ]
    expect(None not in dict(of_rank).values(), "a track without a name")
    expect(len(set(of_rank)) == len(of_rank), "two tracks of one name", of_rank)


def check_rows(events, rows):
    """Every row of schedule.csv is an event with its numbers."""
    by_job = {(e["pid"], e["args"]["job"]): e for e in events}
    expect(len(events) == len(by_job) == len(rows), len(events), len(rows))
    for r in rows:
        e = by_job.get((int(r["rank"]), int(r["job"])))
        if not e:
            expect(False, "no event of", r)
            continue
        for key in "iteration microbatch layer stage chunk".split():
            expect(e["args"][key] == int(r[key]), key, e, r)
        expect(e["cat"] == r["name"], "category", e, r)
        word = r["op"] + (r["microbatch"] if r["microbatch"] != "-1" else "")
        expect(e["name"].split()[0] == word, "name", e, r)
        start, end = ns(float(r["start_us"])), ns(float(r["end_us"]))
        expect(ns(e["ts"]) + ns(e["dur"]) == end, "end", e, r)
        expect(ns(e["args"]["ready_us"]) == ns(float(r["ready_us"])), e, r)
        # A receive is drawn from when there is something to receive.
        late = e["cat"] == "recv" and ns(e["ts"]) > start
        expect(late or ns(e["ts"]) == start, "start", e, r)
        if int(r["worker"]) < 0:
            expect(e["args"]["bytes"] == float(r["bytes"]), "bytes", e, r)
            expect(e["args"].get("peer", -1) == int(r["peer"]), "peer", e, r)


def main():
    all_, rows = read(sys.argv[1])
    events = [e for e in all_ if e["ph"] == "X"]
    tracks = check_tracks(events)
    check_names(all_, tracks, 1 + max(e["pid"] for e in events))
    check_rows(events, rows)
    print(len(events), "events on", len(tracks), "tracks,", bad, "wrong")
    sys.exit(bad > 0)


main()
