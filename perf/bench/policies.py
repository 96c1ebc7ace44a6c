"""What a policy made of a job: the figures of one run's trace, and of several
runs under the same policy and schedule."""

import collections
import csv
import json
import os
import statistics

from bench.ours import Failure


def read(directory):
    """summary.json, and schedule.csv's rows of layers' F, B and W with numbers
    for what is one; Failure."""
    try:
        return _read(directory)
    except OSError:
        raise Failure("it wrote no trace") from None


def _read(directory):
    with open(os.path.join(directory, "summary.json")) as file:
        summary = json.load(file)
    rows = []
    with open(os.path.join(directory, "schedule.csv"), newline="") as file:
        for row in csv.DictReader(file):
            if row["op"] not in ("F", "B", "W") or int(row["worker"]) < 0:
                continue
            if int(row["layer"]) < 0 or int(row["microbatch"]) < 0:
                continue
            for name in ("rank", "worker", "iteration", "microbatch", "stage"):
                row[name] = int(row[name])
            for name in ("start_us", "end_us"):
                row[name] = float(row[name])
            rows.append(row)
    return summary, rows


def periods(summary):
    """Milliseconds of the iterations whose window counts: from the end of one
    to the end of the next."""
    end = {i["iteration"]: i["end_ms"] for i in summary["iterations"]}
    return [
        i["end_ms"] - end.get(i["iteration"] - 1, i["begin_ms"])
        for i in summary["iterations"]
        if i["counts"]
    ]


def _most(moments):
    """The largest sum of (time, step) up to any time; at one moment what ends
    goes first."""
    now = most = 0
    for _, step in sorted(moments):
        now += step
        most = max(most, now)
    return most


def peak_slots(rows):
    """Microbatches that a stage has under way, at most, from the start of F to
    the end of the last W.  {stage: microbatches}, of the rank with most; and
    the most that a rank has on all its stages together."""
    first, last = {}, {}
    for r in rows:
        key = r["rank"], r["stage"], r["iteration"], r["microbatch"]
        first[key] = min(first.get(key, r["start_us"]), r["start_us"])
        last[key] = max(last.get(key, r["end_us"]), r["end_us"])
    of_stage = collections.defaultdict(list)
    of_rank = collections.defaultdict(list)
    for key in first:
        moments = (first[key], 1), (last[key], -1)
        of_stage[key[:2]] += moments
        of_rank[key[0]] += moments
    peak = {}
    for (_, stage), moments in of_stage.items():
        peak[stage] = max(peak.get(stage, 0), _most(moments))
    return dict(sorted(peak.items())), max(map(_most, of_rank.values()))


def affinity(rows):
    """Share of a stage's tasks that its most-used worker ran, on average over
    the stages; of each rank that holds it."""
    of = collections.defaultdict(collections.Counter)
    for r in rows:
        of[r["rank"], r["stage"]][r["worker"]] += 1
    return statistics.mean(max(c.values()) / c.total() for c in of.values())


def migrations(rows):
    """How often an F or B task of a microbatch ran on another worker of its
    rank than the one that started before it, per microbatch and rank."""
    of = collections.defaultdict(list)
    for r in rows:
        if r["op"] != "W":
            key = r["rank"], r["iteration"], r["microbatch"]
            of[key].append((r["start_us"], r["worker"]))
    moves = 0
    for tasks in of.values():
        workers = [worker for _, worker in sorted(tasks)]
        moves += sum(a != b for a, b in zip(workers, workers[1:]))
    return moves / len(of)


def figures(summary, rows):
    of_stage, together = peak_slots(rows)
    bound = summary.get("lower_bound_ms")
    return {
        "policy": summary["run"]["policy"],
        "periods_ms": periods(summary),
        "of_bound": summary["makespan_ms"] / bound if bound else None,
        "bubble": summary["bubble_fraction"],
        "overlap": summary["overlap_fraction"],
        "slots": of_stage,
        "slots_of_rank": together,
        "workers": max(r["workers"] for r in summary["ranks"]),
        "affinity": affinity(rows),
        "migrations": migrations(rows),
    }


def _median(runs, name):
    """Of those that have it; None."""
    values = [r[name] for r in runs if r.get(name) is not None]
    return statistics.median(values) if values else None


def combined(runs):
    """Of the runs of one job: iterations all together, medians of the rest, the
    most slots."""
    every = [ms for r in runs for ms in r["periods_ms"]]
    stages = sorted({stage for r in runs for stage in r["slots"]})
    return {
        "median_ms": statistics.median(every),
        "best_ms": min(every),
        "worst_ms": max(every),
        "iterations_ms": every,
        "evaluated_ms": _median(runs, "evaluated_ms"),
        "of_bound": _median(runs, "of_bound"),
        "bubble": _median(runs, "bubble"),
        "overlap": _median(runs, "overlap"),
        "slots": [max(r["slots"].get(k, 0) for r in runs) for k in stages],
        "slots_of_rank": max(r["slots_of_rank"] for r in runs),
        "workers": max(r["workers"] for r in runs),
        "affinity": _median(runs, "affinity"),
        "migrations": _median(runs, "migrations"),
        "others": max(r["others"] for r in runs),
    }


# A stage's slots are listed up to so many stages.
FEW_STAGES = 8


def slots_text(of_stage):
    if len(of_stage) <= FEW_STAGES:
        return " ".join(map(str, of_stage))
    return f"{min(of_stage)} to {max(of_stage)}"


def _cell(form, value, factor=1):
    return "-" if value is None else form.format(factor * value)


# Heads and cells of a table's columns.
COLUMNS = (
    ("median ms", lambda c: _cell("{:.1f}", c["median_ms"])),
    ("best", lambda c: _cell("{:.1f}", c["best_ms"])),
    ("worst", lambda c: _cell("{:.1f}", c["worst_ms"])),
    ("evaluated", lambda c: _cell("{:.1f}", c["evaluated_ms"])),
    ("/ bound", lambda c: _cell("{:.3f}", c["of_bound"])),
    ("bubble", lambda c: _cell("{:.1f} %", c["bubble"], 100)),
    ("overlap", lambda c: _cell("{:.0f} %", c["overlap"], 100)),
    ("peak slots", lambda c: str(c["slots_of_rank"])),
    ("of stages", lambda c: slots_text(c["slots"])),
    ("affinity", lambda c: _cell("{:.0f} %", c["affinity"], 100)),
    ("migrations", lambda c: _cell("{:.1f}", c["migrations"])),
    ("others' cores", lambda c: _cell("{:.2f}", c["others"])),
)


def rows_of(jobs):
    """The table, first its head, from [(schedule, policy, combined())].  What
    no job has is left out."""
    every = [c for _, _, c in jobs]
    without = set()
    if all(c["evaluated_ms"] is None for c in every):
        without.add("evaluated")
    if all(c["overlap"] is None for c in every):
        without.add("overlap")
    if all(c["workers"] == 1 for c in every):
        without |= {"affinity", "migrations"}
    columns = [c for c in COLUMNS if c[0] not in without]
    scheduled = any(schedule for schedule, _, _ in jobs)
    rows = [["policy", *(head for head, _ in columns)]]
    rows += [[p, *(cell(c) for _, cell in columns)] for _, p, c in jobs]
    if scheduled:
        first = ["schedule", *(schedule or "-" for schedule, _, _ in jobs)]
        rows = [[word, *row] for word, row in zip(first, rows)]
    return rows
