#!/usr/bin/python3
"""trace_fxt.py RANK FXT TRACE: does StarPU's own trace of RANK, made from FxT
in the folder FXT, hold what the folder TRACE does?  On one rank StarPU's graph
and ours must order the same nodes, however many edges they spend on it."""

import collections
import csv
import re
import sys

from checks import expect, finish


def records(path):
    with open(path) as file:
        for block in file.read().split("\n\n"):
            if block.strip():
                yield dict(line.split(": ", 1) for line in block.splitlines()
                           if ": " in line)


def ours(directory, rank):
    with open(directory + "/schedule.csv", newline="") as file:
        rows = {int(r["job"]): r for r in csv.DictReader(file)
                if r["rank"] == rank}
    edges = []
    with open(directory + "/deps.csv", newline="") as file:
        for r in csv.DictReader(file):
            job, on = (x.split("_") for x in (r["job"], r["depends_on"]))
            if job[0] == on[0] == rank:
                edges.append((int(job[1]), int(on[1])))
    return rows, edges


def before(edges):
    """Of each node all that come before it, as bits; numbers of nodes that are
    no task are not in order."""
    direct = collections.defaultdict(set)
    for job, on in edges:
        direct[job].add(on)
    found = {}

    def find(n):
        if n not in found:
            found[n] = 0
            for on in direct[n]:
                found[n] |= find(on) | 1 << on
        return found[n]

    for n in sorted(direct):
        find(n)
    return found


def check_nodes(tasks, rows):
    """Nodes that computed are tasks, by name, iteration and microbatch, and
    nothing else is; before the first iteration there are no messages."""
    want = collections.Counter(
        (r["name"], *(n for n in (str(int(r["iteration"]) - 1),
                                  r["microbatch"]) if n != "-1"))
        for r in rows.values() if r["worker"] != "-1")
    got = collections.Counter((t["Name"], *t["Iteration"].split())
                              for t in tasks[min(rows):])
    expect(got == want, "tasks:", list((got - want).items())[:5],
           list((want - got).items())[:5])


def check_order(tasks, directory, rows, edges):
    job = {t["JobId"]: i for i, t in enumerate(tasks)}
    for i, r in rows.items():
        expect(tasks[i]["Name"] == r["name"], tasks[i], r)
    number = dict(job)  # tasks of StarPU's own follow ours
    with open(directory + "/dag.dot") as file:
        arrows = re.findall(r'"task_(\w+)"->"task_(\w+)"', file.read())
    for arrow in arrows:
        for task in arrow:
            number.setdefault(task, len(number))
    recorded = sum(1 << i for i in rows)
    want = before([(number[b], number[a]) for a, b in arrows])
    got = before(edges)
    for i, r in rows.items():
        expect(want.get(i, 0) & recorded == got.get(i, 0),
               "node", i, r["name"], "has others before it than in StarPU")


def check_data(directory):
    """Names and coordinates of what StarPU was told."""
    layers = 0
    for d in records(directory + "/data.rec"):
        name = re.match(r"layers\.(\d+)\.", d.get("Name", ""))
        if name:
            layers += 1
            expect(d["Coordinates"].split()[0] == name[1], d)
    expect(layers > 0, "no data of layers")


def check_colors(directory):
    want = {"attention_fwd": (0x44, 0x77, 0xaa),
            "attention_bwd": (0xee, 0x66, 0x77),
            "linear_wgrad": (0xcc, 0xbb, 0x44), "adam": (0x22, 0x88, 0x33)}
    with open(directory + "/paje.trace") as file:
        values = re.findall(r'^6\t(\w+)\tWS\t\w+\t"([^"]*)"', file.read(),
                            re.M)
    colors = {name: tuple(float(x) for x in color.split())
              for name, color in values}
    for name, color in want.items():
        expect(colors.get(name) == color, name, colors.get(name))


rank, fxt, trace = sys.argv[1:]
rows, edges = ours(trace, rank)
tasks = sorted((t for t in records(fxt + "/tasks.rec") if "Model" in t),
               key=lambda t: int(t["SubmitOrder"]))
check_nodes(tasks, rows)
if all(r["worker"] != "-1" for r in rows.values()):
    check_order(tasks, fxt, rows, edges)
check_data(fxt)
check_colors(fxt)
finish("rank", rank + ":", len(tasks), "tasks,", len(rows), "nodes,")
