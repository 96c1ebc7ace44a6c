"""What a traced run on a GPU says: how much of the time it had nothing to do,
and every operation against what the device could do at best."""

import os

from bench import trace


def _records(path):
    """{field: text} of each record of recutils."""
    record = {}
    with open(path) as file:
        for line in file:
            name, colon, value = line.rstrip("\n").partition(": ")
            if colon:
                record[name] = value
            elif record:
                yield record
                record = {}
    if record:
        yield record


def moved(record):
    """Bytes that a node reads and writes at least.  Of the table of an
    embedding only the rows of the tokens count: about as much as the
    activations have."""
    sizes = [float(s) for s in record.get("Sizes", "").split()]
    if record["Name"].startswith("embedding") and len(sizes) > 1:
        largest = sizes.index(max(sizes))
        sizes[largest] = sorted(sizes)[-2]
    modes = record.get("Modes", "").split()
    return sum(s * len(mode) for s, mode in zip(sizes, modes))


def operations(directory, rows, tflops, gbs):
    """Of each operation, most time first: {name, calls, ms, flops, bytes,
    floor_ms, of_floor}; the floor of a call is the longer of its bytes at gbs
    and its FLOPs at tflops."""
    bytes_of = {
        record["JobId"]: moved(record)
        for record in _records(os.path.join(directory, "tasks.rec"))
    }
    sums = {}
    for row in rows:
        bytes_ = bytes_of.get(f"{row['rank']}_{row['job']}", 0)
        flops = float(row["flops"])
        each = sums.setdefault(
            row["name"],
            {"calls": 0, "ms": 0, "flops": 0, "bytes": 0, "floor_ms": 0},
        )
        each["calls"] += 1
        each["ms"] += 1e-3 * (float(row["end_us"]) - float(row["start_us"]))
        each["flops"] += flops
        each["bytes"] += bytes_
        each["floor_ms"] += max(1e-9 * flops / tflops, 1e-6 * bytes_ / gbs)
    return [
        {"name": name, **each, "of_floor": each["floor_ms"] / each["ms"]}
        for name, each in sorted(sums.items(), key=lambda e: -e[1]["ms"])
        if each["ms"] > 0
    ]


def figures(directory, tflops, gbs):
    """idle: the share of a GPU's time in which StarPU saw no task of ours on
    it; us_idle_per_node: what that comes to."""
    summary, rows = trace.read(directory)
    rows = [row for row in rows if row["workers"] != "0"]
    all_ = trace.figures(summary, rows)
    table = operations(directory, rows, tflops, gbs)
    return {
        "makespan_ms": all_["makespan_ms"],
        "nodes": all_["nodes"],
        "idle": 1 - all_["efficiency"],
        "us_idle_per_node": all_["us_of_workers_per_node"],
        "us_of_node": all_["us_of_node"],
        "of_floor": sum(r["floor_ms"] for r in table)
        / sum(r["ms"] for r in table),
        "operations": table,
    }
