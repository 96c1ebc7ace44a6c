"""Reads what mtlm-dag --trace DIR wrote."""

import csv
import json
import os


def read(directory):
    """summary.json, and schedule.csv's rows of nodes on workers in the
    iterations whose window counts."""
    with open(os.path.join(directory, "summary.json")) as file:
        summary = json.load(file)
    counted = {i["iteration"] for i in summary["iterations"] if i["counts"]}
    rows = []
    with open(os.path.join(directory, "schedule.csv"), newline="") as file:
        for row in csv.DictReader(file):
            if int(row["worker"]) >= 0 and int(row["iteration"]) in counted:
                rows.append(row)
    return summary, rows


def figures(summary, rows):
    """Of an iteration: how much of the workers' time nodes took, and what the
    rest comes to per node."""
    window = sum(r["window_ms"] for r in summary["ranks"])
    workers = sum(r["workers"] * r["window_ms"] for r in summary["ranks"])
    busy = sum(r["busy_ms"] for r in summary["ranks"])
    waits = {}
    for wait in summary["waits"]:
        waits[wait["cause"]] = waits.get(wait["cause"], 0) + wait["share"]
    return {
        "makespan_ms": summary["makespan_ms"],
        "nodes": len(rows) / summary["windows"],
        "efficiency": busy / workers,
        "nodes_per_second": 1e3 * len(rows) / window,
        "us_of_workers_per_node": 1e3 * (workers - busy) / len(rows),
        "us_of_node": 1e3 * busy / len(rows),
        "waits": waits,
        "engine": max(r["engine_share"] for r in summary["ranks"]),
    }


def operations(rows):
    """[(name, calls, milliseconds, FLOPs)], most time first."""
    sums = {}
    for row in rows:
        entry = sums.setdefault(row["name"], [0, 0, 0])
        entry[0] += 1
        entry[1] += 1e-3 * (float(row["end_us"]) - float(row["start_us"]))
        entry[2] += float(row["flops"])
    return sorted(
        ((name, *entry) for name, entry in sums.items()),
        key=lambda entry: -entry[2],
    )
