#!/usr/bin/python3
"""trace_events.py DIR: is DIR/trace.json what viewers take, and does it hold
what DIR/schedule.csv does?"""

import collections
import csv
import json
import sys

from checks import expect, finish

NS = 1000  # times are in microseconds, with three decimals


def ns(us):
    return round(us * NS)


def rank_of(event):
    """Processes and threads 0 are special to viewers."""
    return event["pid"] - 1


def read(directory):
    with open(directory + "/trace.json") as file:
        trace = json.load(file)
    with open(directory + "/schedule.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return trace, rows


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
        name = names.get(("process_name", rank + 1, None), "")
        expect(name.startswith(f"rank {rank} (stage"), "process", name)
    of_rank = [
        (pid, names.get(("thread_name", pid, tid))) for pid, tid in tracks
    ]
    expect(None not in dict(of_rank).values(), "a track without a name")
    expect(len(set(of_rank)) == len(of_rank), "two tracks of one name", of_rank)


def check_rows(events, rows, origin):
    """Every row of schedule.csv is an event with its numbers, times from the
    begin of the file, which nothing precedes."""
    by_job = {(rank_of(e), e["args"]["job"]): e for e in events}
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
        start, end = (ns(origin + float(r[k])) for k in ("start_us", "end_us"))
        expect(ns(e["ts"]) + ns(e["dur"]) == end, "end", e, r)
        expect(ns(e["args"]["ready_us"]) == ns(origin + float(r["ready_us"])),
               "ready", e, r)
        expect(e["ts"] >= 0, "before the begin", e)
        # A receive is drawn from when there is something to receive.
        late = e["cat"] == "recv" and ns(e["ts"]) > start
        expect(late or ns(e["ts"]) == start, "start", e, r)
        if int(r["worker"]) < 0:
            expect(e["args"]["bytes"] == float(r["bytes"]), "bytes", e, r)
            expect(e["args"].get("peer", -1) == int(r["peer"]), "peer", e, r)
            wait, transfer = e["args"]["wait_us"], e["args"]["transfer_us"]
            expect(wait >= 0 and transfer >= 0, "wait", e)
            expect(ns(wait) + ns(transfer) == end - start, "wait", e, r)
            expect((ns(wait), ns(transfer)) == tuple(
                ns(float(r[k])) for k in ("wait_us", "transfer_us")), e, r)
            expect(not late or start + ns(wait) == ns(e["ts"]), "wait", e, r)


def check_arrows(arrows, events, rows):
    """Each leads from inside a send into the receive of its message."""
    held = collections.defaultdict(list)
    for e in events:
        held[e["pid"], e["tid"]].append(e)

    def event_at(a):
        t = ns(a["ts"])
        found = [
            e
            for e in held[a["pid"], a["tid"]]
            if ns(e["ts"]) <= t <= ns(e["ts"]) + ns(e["dur"])
            and e["cat"] == ("send" if a["ph"] == "s" else "recv")
        ]
        expect(len(found) == 1, "an arrow ends in", found, a)
        return (rank_of(a), found[0]["args"]["job"]) if found else None

    ends = collections.defaultdict(dict)
    for a in arrows:
        expect(a["ph"] not in ends[a["id"]], "twice", a)
        expect(a["ph"] == "s" or a["bp"] == "e", "binding point", a)
        ends[a["id"]][a["ph"]] = event_at(a)
    drawn = sorted((e.get("s"), e.get("f")) for e in ends.values())
    messages = collections.defaultdict(dict)
    for r in rows:
        if r["name"] in ("send", "recv"):
            pair = int(r["rank"]), int(r["peer"])
            pair = pair if r["name"] == "send" else pair[::-1]
            message = messages[pair, r["match"]]
            expect(r["name"] not in message, "two of one number", r)
            message[r["name"]] = int(r["rank"]), int(r["job"])
    wanted = sorted((m.get("send"), m.get("recv")) for m in messages.values())
    expect(len(wanted) > 0, "no messages")
    expect(drawn == wanted, "arrows", drawn[:4], "but messages", wanted[:4])


def check_waits(events):
    waits = [e["args"]["wait_us"] for e in events if e["cat"] == "recv"]
    expect(any(w > 0 for w in waits), "no receive has waited")


def main():
    trace, rows = read(sys.argv[1])
    all_ = trace["traceEvents"]
    events = [e for e in all_ if e["ph"] == "X"]
    tracks = check_tracks(events)
    check_names(all_, tracks, max(e["pid"] for e in events))
    expect(all(e["pid"] > 0 and e.get("tid", 1) > 0 for e in all_), "number 0")
    check_rows(events, rows, trace["otherData"]["origin_us"])
    check_arrows([e for e in all_ if e["ph"] in "sf"], events, rows)
    check_waits(events)
    finish(len(events), "events on", len(tracks), "tracks,")


main()
