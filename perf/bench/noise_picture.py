"""A picture of modes beside strict under noise, as SVG: a group for each job and
schedule, a dot with its interval for each noise and mode."""

import itertools

from bench import dots

OFF = {"hint": -3.5, "emergent": 3.5}  # pixels


def _job(row):
    return row.p, row.m, row.times, row.schedule


def _name(job):
    p, m, times, schedule = job
    return f"{schedule}, p {p}, m {m}, message {times[3]:g}"


def draw(rows):
    columns = list(rows[0].beside)
    groups = [
        (_name(job), [(r.noise, [r.beside[c] for c in columns]) for r in some])
        for job, some in itertools.groupby(rows, _job)
    ]
    return dots.draw(
        "Modes beside strict, under the same noise",
        "per cent longer than strict",
        [", ".join(column) for column in columns],
        groups,
        [OFF[mode] for mode, _ in columns],
    )
