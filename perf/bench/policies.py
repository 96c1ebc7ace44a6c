"""What a policy made of a job: the figures of one run's trace, and of several
runs under the same policy and schedule."""

import collections
import csv
import json
import os
import statistics


def read(directory):
    """summary.json, and schedule.csv's rows of layers' F, B and W with numbers
    for what is one."""
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
    return {
        "policy": summary["run"]["policy"],
        "periods_ms": periods(summary),
        "bubble": summary["bubble_fraction"],
        "overlap": summary["overlap_fraction"],
        "slots": of_stage,
        "slots_of_rank": together,
        "workers": max(r["workers"] for r in summary["ranks"]),
        "affinity": affinity(rows),
        "migrations": migrations(rows),
    }


def combined(runs):
    """Of the runs of one job: iterations all together, medians of the rest, the
    most slots."""
    every = [ms for r in runs for ms in r["periods_ms"]]
    overlaps = [r["overlap"] for r in runs if r["overlap"] is not None]
    stages = sorted({stage for r in runs for stage in r["slots"]})
    return {
        "median_ms": statistics.median(every),
        "best_ms": min(every),
        "worst_ms": max(every),
        "iterations_ms": every,
        "bubble": statistics.median(r["bubble"] for r in runs),
        "overlap": statistics.median(overlaps) if overlaps else None,
        "slots": [max(r["slots"].get(k, 0) for r in runs) for k in stages],
        "slots_of_rank": max(r["slots_of_rank"] for r in runs),
        "workers": max(r["workers"] for r in runs),
        "affinity": statistics.median(r["affinity"] for r in runs),
        "migrations": statistics.median(r["migrations"] for r in runs),
        "others": max(r["others"] for r in runs),
    }


# A stage's slots are listed up to so many stages.
FEW_STAGES = 8


def slots_text(of_stage):
    if len(of_stage) <= FEW_STAGES:
        return " ".join(map(str, of_stage))
    return f"{min(of_stage)} to {max(of_stage)}"


def rows_of(jobs):
    """The table, first its head, from [(schedule, policy, combined())]."""
    many = any(c["workers"] > 1 for _, _, c in jobs)
    head = ["policy", "median ms", "best", "worst", "bubble", "overlap"]
    head += ["peak slots", "of stages"]
    if many:
        head += ["affinity", "migrations"]
    head.append("others' cores")
    scheduled = any(schedule for schedule, _, _ in jobs)
    rows = [(["schedule"] if scheduled else []) + head]
    for schedule, policy, c in jobs:
        row = [policy] + [
            f"{c[x]:.1f}" for x in ("median_ms", "best_ms", "worst_ms")
        ]
        row.append(f"{100 * c['bubble']:.1f} %")
        row.append(
            "-" if c["overlap"] is None else f"{100 * c['overlap']:.0f} %"
        )
        row += [str(c["slots_of_rank"]), slots_text(c["slots"])]
        if many:
            row += [f"{100 * c['affinity']:.0f} %", f"{c['migrations']:.1f}"]
        row.append(f"{c['others']:.2f}")
        rows.append(([schedule or "-"] if scheduled else []) + row)
    return rows
