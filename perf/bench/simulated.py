"""A job in virtual time under a scheduling policy: the figures of
mtlm-dag --simulate --simulate-engine starpu."""

import json
import os

COLUMNS = (
    ("iteration ms", lambda c: f"{1e3 * c['iteration_s']:.3f}"),
    ("beside the first", lambda c: f"{c['beside']:+.2f} %"),
    ("evaluated ms", lambda c: f"{1e3 * c['evaluator_s']:.3f}"),
    ("bubble", lambda c: f"{100 * c['bubble']:.2f} %"),
)


def command(program, cluster, job, work, engine="starpu"):
    """The words of a simulation of the job; its numbers go to work."""
    return [
        *(program, "--simulate", cluster, "--simulate-engine", engine),
        *job,
        *("--metrics", os.path.join(work, "metrics")),
    ]


def figures(work):
    """The numbers that command() left in work."""
    with open(os.path.join(work, "metrics")) as file:
        return json.loads(file.readline())["simulation"]


def compared(jobs):
    """[(schedule, policy, figures())] with beside: per cent that an iteration
    takes longer than under the first policy of its schedule."""
    first = {}
    return [
        (schedule, policy, dict(c, beside=_longer(c, first, schedule)))
        for schedule, policy, c in jobs
    ]


def _longer(found, first, schedule):
    base = first.setdefault(schedule, found["iteration_s"])
    return 100 * (found["iteration_s"] / base - 1)


def rows_of(jobs):
    """The table, first its head, of compared()."""
    rows = [["policy", *(head for head, _ in COLUMNS)]]
    rows += [[p, *(cell(c) for _, cell in COLUMNS)] for _, p, c in jobs]
    if any(schedule for schedule, _, _ in jobs):
        first = ["schedule", *(schedule or "-" for schedule, _, _ in jobs)]
        rows = [[word, *row] for word, row in zip(first, rows)]
    return rows


def bar(policy, found):
    """For bars.draw()."""
    return {
        "name": policy,
        "values": [1e3 * found["iteration_s"]],
        "median": 1e3 * found["iteration_s"],
        "note": f"{found['beside']:+.1f} %",
    }
