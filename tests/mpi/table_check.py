#!/usr/bin/env python3
"""What tests/mpi/table.sh asks of its table and of its runs:

table_check.py pairs TABLE   whether every two values are in some line together,
                             and every value in a marked one
table_check.py compare DIR   whether each run has the losses and gradients of one rank
"""

import glob
import itertools
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "reference"))
import dump_files

VALUES = {
    "model": ["gpt", "bert", "bert-post"],
    "layers": ["12", "7"],
    "T": ["1", "2", "4"],
    "P": ["1", "2", "4"],
    "V": ["1", "2", "3"],
    "D": ["1", "2", "4"],
    "sp": ["-", "sp"],
    "do": ["-", "do"],
    "recompute": ["none", "selective", "uniform", "block"],
    "placement": ["loop", "v"],
    "schedule": "window gpipe 1f1b interleaved zb-h1 zb-h2 zb-v".split(),
}

# Bars: the first loss, every loss, every gradient.
FIRST_LOSS, LOSSES, GRADIENTS = 1e-6, 1e-5, 5e-6


def possible(run):
    """Whether the values of a run, or of a part of it, go together."""
    value = {"V": None, "P": None, "placement": None, **run}
    sizes = [int(run[k]) for k in "TPD" if k in run]
    more = value["V"] not in (None, "1")
    schedule = run.get("schedule")
    return not (
        len(sizes) > 1
        and max(a * b for a, b in itertools.combinations(sizes, 2)) > 16
        or run.get("sp") == "sp"
        and value.get("T") == "1"
        or value["V"] is not None
        and value["P"] is not None
        and int(value["P"]) * int(value["V"]) > int(run.get("layers", 12))
        or value["placement"] == "v"
        and "1" in (value["V"], value["P"])
        or schedule == "zb-v"
        and (
            value["placement"] == "loop"
            or value["V"] not in (None, "2")
            or value["P"] == "1"
        )
        or schedule == "interleaved"
        and (value["V"] == "1" or value["placement"] == "v" or value["P"] == "1")
        or schedule in ("gpipe", "1f1b", "zb-h1", "zb-h2")
        and (more or value["placement"] == "v")
    )


def lines(path):
    with open(path) as file:
        return [line.split() for line in file if not line.startswith("#")]


def unmarked(path):
    """Prints the values that no marked line has, and returns them."""
    marked = [line[:-1] for line in lines(path) if line[-1] == "*"]
    missing = [
        f"{name} {value}"
        for (name, values), seen in zip(
            VALUES.items(), zip(*marked or [[""] * len(VALUES)])
        )
        for value in values
        if value not in seen
    ]
    for value in missing:
        print(f"no marked line has {value}")
    return missing


def pairs(path):
    """Counts the pairs that no line of the table has."""
    runs = [dict(zip(VALUES, line)) for line in lines(path)]
    for run in runs:
        if not possible(run):
            sys.exit(f"not possible: {run}")
    missing = [
        (a, x, b, y)
        for a, b in itertools.combinations(VALUES, 2)
        for x in VALUES[a]
        for y in VALUES[b]
        if possible({a: x, b: y})
        and not any(run[a] == x and run[b] == y for run in runs)
    ]
    for a, x, b, y in missing:
        print(f"no line has {a} {x} with {b} {y}")
    print(f"{len(runs)} runs")
    return not (missing or unmarked(path)) and len(runs) >= 30


def worst_gradient(mine, theirs):
    """The largest difference in norm of a gradient tensor, relative to that
    tensor's, or to the whole gradient's share where it is next to nothing."""
    if mine.keys() != theirs.keys():
        sys.exit(f"other tensors: {mine.keys() ^ theirs.keys()}")
    whole = np.sqrt(sum(np.sum(g**2) for g in theirs.values()))
    floor = 1e-3 * whole / np.sqrt(len(theirs))
    return max(
        np.linalg.norm(mine[k] - g) / max(np.linalg.norm(g), floor)
        for k, g in theirs.items()
    )


def read(directory, name):
    """The printed losses of a run, its first one in full, its gradients."""
    vocab = 257 if name.split(".")[name.startswith("one.")] == "gpt" else 261
    dump = dump_files.assemble(os.path.join(directory, name))
    _, gradients, _, rest = dump_files.split(dump, vocab)
    losses = np.loadtxt(os.path.join(directory, name + ".losses"))
    return losses, float(rest["loss"]), gradients


def compare(directory):
    """Prints a line per run; whether all are within the bars."""
    good = True
    ones = {}
    for path in sorted(glob.glob(os.path.join(directory, "*.losses"))):
        name = os.path.basename(path)[: -len(".losses")]
        if name.startswith("one."):
            continue
        one = "one." + ".".join(name.split(".")[:2])
        if one not in ones:
            ones[one] = read(directory, one)
        mine, theirs = read(directory, name), ones[one]
        losses = np.abs(mine[0] / theirs[0] - 1).max()
        first = abs(mine[1] / theirs[1] - 1)
        gradient = worst_gradient(mine[2], theirs[2])
        ok = (
            first <= FIRST_LOSS and losses <= LOSSES and gradient <= GRADIENTS
        )
        good = good and ok
        print(
            f"{name}: first loss {first:.1e}, all losses {losses:.1e}, "
            f"gradients {gradient:.1e}{'' if ok else ' FAILED'}"
        )
    return good


def main():
    what, path = sys.argv[1:]
    sys.exit(0 if {"pairs": pairs, "compare": compare}[what](path) else 1)


main()
