"""Measured jobs with stragglers, as ByteDance-Seed/StragglerAnalysis publishes
them: from trace-NAME.parquet and result-NAME.json to passes, a replay of the
recorded order, and files for mtlm-dag.  Times in seconds."""

import collections
import json
import os
import statistics

from bench import parquet
from bench.ours import Failure

COLUMNS = ("dp_rank", "stage", "step", "optype", "start_ts", "duration",
           "seq_id", "mb_id")
PASSES = {"forward-compute": "F", "backward-compute": "B"}
# A send, the receive at the other end, and how many stages on.
MESSAGES = {"forward-send": ("forward-recv", 1),
            "backward-send": ("backward-recv", -1)}
# The traces do not split the backward pass: this share of it is W here.
WEIGHT = 0.5

# replicas: [{(pass, stage, microbatch): (start, seconds)}].  begin, end: of all
# operations.  published: seconds of the step.
Step = collections.namedtuple("Step", "number replicas begin end published")
# p ranks, m microbatches; hop: seconds of a message.
Job = collections.namedtuple("Job", "name p m hop steps")


def _load(path):
    try:
        return parquet.read(path, COLUMNS)
    except (OSError, parquet.Damaged) as error:
        why = getattr(error, "strerror", None) or error
        raise Failure(f"{path}: {why}") from None


def _published(path):
    """{step: seconds}"""
    try:
        with open(path) as file:
            steps = json.load(file)["step_t_base"]
        return {int(step): float(seconds) for step, seconds in steps.items()}
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Failure(f"{path}: it has no step times (step_t_base)") from None


def _operations(table):
    """{step: [{column: value}]}"""
    found = collections.defaultdict(list)
    for values in zip(*(table[name] for name in COLUMNS)):
        row = dict(zip(COLUMNS, values))
        found[row["step"]].append(row)
    return found


def _hops(rows):
    """Seconds between the moment when both ends are there and the receive's
    end."""
    ends = {
        (r["optype"], r["dp_rank"], r["stage"], r["seq_id"]): (
            r["start_ts"], r["start_ts"] + r["duration"]
        )
        for r in rows
        if r["optype"].endswith(("-send", "-recv"))
    }
    for (optype, replica, stage, number), (start, _) in ends.items():
        if optype in MESSAGES:
            peer, on = MESSAGES[optype]
            other = ends.get((peer, replica, stage + on, number))
            if other:
                yield max(0, other[1] - max(start, other[0]))


def _step(number, rows, published):
    replicas = collections.defaultdict(dict)
    for r in rows:
        if r["optype"] in PASSES:
            key = PASSES[r["optype"]], r["stage"], r["mb_id"]
            replicas[r["dp_rank"]][key] = r["start_ts"], r["duration"]
    return Step(
        number,
        [replicas[i] for i in sorted(replicas)],
        min(r["start_ts"] for r in rows),
        max(r["start_ts"] + r["duration"] for r in rows),
        published,
    )


def _check(path, job):
    """Each step has the same replicas, and each of them all passes."""
    want = {(k, s, i) for k in "FB" for s in range(job.p) for i in range(job.m)}
    replicas = len(job.steps[0].replicas)
    for step in job.steps:
        if len(step.replicas) != replicas or not replicas:
            raise Failure(
                f"{path}: step {step.number} has {len(step.replicas)} replicas, "
                f"step {job.steps[0].number} {replicas}"
            )
        for number, passes in enumerate(step.replicas):
            if set(passes) != want:
                kind, stage, i = min(want.symmetric_difference(passes))
                raise Failure(
                    f"{path}: step {step.number}, replica {number}: {kind} of "
                    f"microbatch {i} on stage {stage} is missing or too many"
                )
            if any(seconds <= 0 for _, seconds in passes.values()):
                raise Failure(
                    f"{path}: step {step.number}, replica {number}: a pass "
                    "takes no time"
                )


def read(directory, name):
    path = os.path.join(directory, f"trace-{name}.parquet")
    table = _load(path)
    published = _published(os.path.join(directory, f"result-{name}.json"))
    operations = _operations(table)
    if not operations:
        raise Failure(f"{path}: it has no operation")
    lacks = [step for step in sorted(operations) if step not in published]
    if lacks:
        raise Failure(f"{path}: step {lacks[0]} has no published time")
    hops = [hop for rows in operations.values() for hop in _hops(rows)]
    job = Job(
        name,
        max(table["stage"]) + 1,
        max(table["mb_id"]) + 1,
        statistics.median(hops) if hops else 0,
        [_step(n, operations[n], published[n]) for n in sorted(operations)],
    )
    _check(path, job)
    return job


# ---- the replay ----


def longest_path(passes, p, hop):
    """Seconds from the first start to the last end of a replica whose ranks keep
    their recorded order; messages wait for nothing but their data."""
    order = [sorted((start, key) for key, (start, _) in passes.items()
                    if key[1] == stage) for stage in range(p)]
    place, free, end = [0] * p, [0.0] * p, {}
    while len(end) < len(passes):
        before = len(end)
        for stage in range(p):
            while place[stage] < len(order[stage]):
                key = order[stage][place[stage]][1]
                kind, _, i = key
                peer = stage - 1 if kind == "F" else stage + 1
                ready = free[stage]
                if 0 <= peer < p:
                    if (kind, peer, i) not in end:
                        break
                    ready = max(ready, end[kind, peer, i] + hop)
                end[key] = free[stage] = ready + passes[key][1]
                place[stage] += 1
        if len(end) == before:
            raise Failure("the recorded order waits for itself")
    return max(free)


def pipelines(job):
    """[seconds of each replica's pipeline] of each step."""
    return [
        [longest_path(passes, job.p, job.hop) for passes in step.replicas]
        for step in job.steps
    ]


def replay(job):
    """[seconds of each step]: what the job does before its first pass and after
    its last one is as recorded."""
    found = []
    for step, paths in zip(job.steps, pipelines(job)):
        starts = [min(s for s, _ in passes.values()) for passes in step.replicas]
        last = max(s + d for passes in step.replicas
                   for s, d in passes.values())
        begin = max(s - step.begin + path for s, path in zip(starts, paths))
        found.append(begin + step.end - last)
    return found


def off(job):
    """How far each replayed step is from its published time, in per cent."""
    return [
        100 * (seconds / step.published - 1)
        for step, seconds in zip(job.steps, replay(job))
    ]


# ---- files for mtlm-dag ----


def mean_times(job):
    """[(F, backward)] of each stage, over steps, replicas and microbatches."""
    def mean(kind, stage):
        return statistics.fmean(
            seconds
            for step in job.steps
            for passes in step.replicas
            for (k, s, _), (_, seconds) in passes.items()
            if (k, s) == (kind, stage)
        )

    return [(mean("F", stage), mean("B", stage)) for stage in range(job.p)]


def write(job, times_path, factors_path):
    """Writes files for --stage-times and --jitter-file."""
    times = mean_times(job)
    with open(times_path, "w") as file:
        for stage, (forward, backward) in enumerate(times):
            file.write(
                f"[stage {stage}]\n"
                f"forward_ms = {1e3 * forward:.9g}\n"
                f"backward_ms = {1e3 * (1 - WEIGHT) * backward:.9g}\n"
                f"weight_ms = {1e3 * WEIGHT * backward:.9g}\n"
            )
        file.write(f"[hop]\nlatency_us = {1e6 * job.hop:.9g}\n")
    with open(factors_path, "w") as file:
        file.write("iteration,replica,stage,microbatch,pass,factor\n")
        for iteration, step in enumerate(job.steps):
            for replica, passes in enumerate(step.replicas):
                for (kind, stage, i), (_, seconds) in sorted(passes.items()):
                    factor = seconds / times[stage][kind == "B"]
                    for name in ("F",) if kind == "F" else ("B", "W"):
                        file.write(
                            f"{iteration},{replica},{stage},{i},{name},"
                            f"{factor:.9g}\n"
                        )
