#!/usr/bin/python3
"""trace_deps.py DIR: are the edges of DIR/deps.csv such as the times and
places of the nodes in DIR/schedule.csv allow, and does DIR/dag.dot hold the
same?"""

import collections
import csv
import re
import sys

from checks import expect, finish

CLOCK_US = 50  # how well the clocks of two ranks are known to agree
SLACK_US = 0.002  # times are rounded
COLLECTIVE = {"AR", "DP"}


def read(directory):
    nodes = {}
    with open(directory + "/schedule.csv", newline="") as file:
        for r in csv.DictReader(file):
            for key in "ready_us start_us end_us".split():
                r[key] = float(r[key])
            nodes[r["rank"] + "_" + r["job"]] = r
    with open(directory + "/deps.csv", newline="") as file:
        rows = csv.DictReader(file)
        expect(rows.fieldnames == ["job", "depends_on"], rows.fieldnames)
        edges = [(r["job"], r["depends_on"]) for r in rows]
    return nodes, edges


def meeting(r):
    """Which collective it is of."""
    return r["group"], r["group_root"], r["match"]


def check_times(nodes, edges):
    """Nothing begins before what it waits for has ended, no message is over
    before another end of it began."""
    expect(len(set(edges)) == len(edges), "an edge twice")
    for job, on in edges:
        expect(job in nodes and on in nodes, job, on, "not recorded")
        a, b = nodes[on], nodes[job]
        if a["rank"] == b["rank"]:
            expect(a["end_us"] <= b["ready_us"] + SLACK_US,
                   job, "was ready before", on, "had ended")
            expect(int(a["job"]) < int(b["job"]), on, "after", job)
        elif b["op"] == "RECV" or meeting(a) == meeting(b):
            expect(a["start_us"] <= b["end_us"] + CLOCK_US,
                   job, "was there before", on, "was sent")
        else:
            expect(b["op"] in COLLECTIVE, job, "waits for", on)
            expect(a["end_us"] <= b["end_us"] + CLOCK_US,
                   job, "was over before", on, "had ended")


def check_messages(nodes, edges):
    """A receive waits for one send of its peer, no two for the same."""
    on = collections.defaultdict(list)
    for job, before in edges:
        on[job].append(before)
    sent = []
    for job, r in nodes.items():
        away = [n for n in on[job] if nodes[n]["rank"] != r["rank"]]
        if r["op"] == "RECV":
            expect(len(away) == 1, job, "waits for", away)
            sent += away
            for n in away:
                s = nodes[n]
                expect(s["op"] == "SEND" and s["rank"] == r["peer"]
                       and s["peer"] == r["rank"]
                       and s["iteration"] == r["iteration"]
                       and s["microbatch"] == r["microbatch"]
                       and s["bytes"] == r["bytes"], job, "receives", n)
        elif r["op"] not in COLLECTIVE:
            expect(not away, job, "waits for", away)
    sends = [job for job, r in nodes.items() if r["op"] == "SEND"]
    expect(sorted(sent) == sorted(sends), "not every send has a receive")


def check_collectives(nodes, edges):
    """Each node of a collective waits for what all of them wait for, itself
    or through that of the smallest rank; few edges say so."""
    own = collections.defaultdict(set)  # what it waits for on its rank
    away = collections.defaultdict(set)
    for job, on in edges:
        near = nodes[job]["rank"] == nodes[on]["rank"]
        (own if near else away)[job].add(on)
    groups = collections.defaultdict(list)
    for job, r in nodes.items():
        if r["op"] in COLLECTIVE:
            groups[meeting(r)].append((int(r["rank"]), job))
    for of in groups.values():
        first, *others = [job for _, job in sorted(of)]
        sizes = {float(nodes[job]["bytes"]) for _, job in of}
        expect(len(sizes) == 1 and min(sizes) > 0, first, "has bytes", sizes)
        expect(away[first] == set().union(*(own[job] for job in others)),
               first, "waits for", away[first])
        for job in others:
            expect(away[job] == {first}, job, "waits for", away[job])
            for on in set().union(*(own[n] for _, n in of)):
                expect(nodes[on]["end_us"] <= nodes[job]["end_us"] + CLOCK_US,
                       job, "was over before", on, "had ended")


def check_flow(nodes, edges):
    """No circle; each layer's forward pass comes after the layer before, its
    gradients after all of its forward pass, Adam after everything."""
    waiting = collections.defaultdict(list)
    missing = collections.Counter()
    for job, on in edges:
        waiting[on].append(job)
        missing[job] += 1
    ready = [n for n in nodes if not missing[n]]
    number = {n: i for i, n in enumerate(nodes)}
    after = {n: 1 << number[n] for n in nodes}  # a set, bit by bit
    done = 0
    while ready:
        n = ready.pop()
        done += 1
        for job in waiting[n]:
            after[job] |= after[n]
            missing[job] -= 1
            if not missing[job]:
                ready.append(job)
    expect(done == len(nodes), "a circle of edges")

    def set_of(wanted):
        return sum(1 << number[n] for n, r in nodes.items() if wanted(r))

    layers = collections.defaultdict(lambda: collections.defaultdict(int))
    for n, r in nodes.items():
        key = r["iteration"], r["microbatch"], int(r["layer"])
        layers[key][r["op"]] |= 1 << number[n]
    depth = max(layer for _, _, layer in layers)
    weights = collections.defaultdict(int)
    for n, r in nodes.items():
        if r["op"] == "W":
            weights[r["iteration"], r["rank"]] |= 1 << number[n]
    for n, r in nodes.items():
        key = r["iteration"], r["microbatch"], int(r["layer"])
        before = layers[(*key[:2], key[2] - 1)]["F"]
        behind = layers[(*key[:2], key[2] + 1)]["B"]
        if r["name"] == "attention_fwd" and r["op"] == "F":
            expect(after[n] & before or key[2] == 0,
                   n, "without the layer before")
        elif r["name"] == "attention_bwd":
            expect(after[n] & layers[key]["F"] and
                   (after[n] & behind or key[2] == depth),
                   n, "without what its gradient comes from")
        elif r["name"] in ("adam", "adam_master"):
            w = weights[r["iteration"], r["rank"]]
            expect(after[n] & w == w, n, "before all gradients are there")


def check_dag(directory, edges):
    with open(directory + "/dag.dot") as file:
        text = file.read()
    arrows = re.findall(r'^\s*"task_(\d+_\d+)"->"task_(\d+_\d+)"$', text, re.M)
    expect(text.count("->") == len(arrows), "arrows of another form")
    expect(sorted((b, a) for a, b in arrows) == sorted(edges),
           "dag.dot has other edges")


nodes, edges = read(sys.argv[1])
check_times(nodes, edges)
check_messages(nodes, edges)
check_collectives(nodes, edges)
check_flow(nodes, edges)
check_dag(sys.argv[1], edges)
finish(len(nodes), "nodes,", len(edges), "edges,")
