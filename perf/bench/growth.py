"""How time and memory grow with a size: exponents and what they are to be."""

import dataclasses
import math

LAST = 3  # points of the last two steps
SLACK = 0.15  # of an exponent: noise, caches
LEAST = 2  # points of a line


@dataclasses.dataclass(frozen=True)
class Point:
    """A size of an axis, and the run that has it."""

    size: int
    case: object  # bench.cases.Case
    iterations: int
    workers: int
    ranks: int = 1
    more: tuple = ()


@dataclasses.dataclass(frozen=True)
class Axis:
    name: str
    about: str
    points: tuple
    time: str  # which exponent of time large sizes come to, and why
    memory: str
    seconds: float  # what the axis takes on two cores, about
    runtime: bool = False  # nodes are the work, not FLOPs


def slope(sizes, values):
    """Of the least-squares line of log value against log size."""
    xs, ys = [math.log(s) for s in sizes], [math.log(v) for v in values]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum(
        (a - x) ** 2 for a in xs
    )


def flops(case):
    """Of an iteration: matrix products, attention in full, output layer."""
    m = case.model
    layer = 72 * m.hidden**2 + 12 * case.seq_length * m.hidden
    return case.tokens * (m.layers * layer + 6 * m.hidden * m.vocab)


def work(axis, row, cores):
    """What the time of a row is to be proportional to.  All ranks count as many
    nodes as the busiest one."""
    if not axis.runtime:
        return row["flops"]
    return row["nodes"] * row["ranks"] / min(row["ranks"], cores)


def exponent(sizes, measured, expected):
    """{all, last, expected, expected_last, off}; off: grows faster than what
    is expected of the same sizes."""
    found = {
        "all": slope(sizes, measured),
        "last": slope(sizes[-LAST:], measured[-LAST:]),
        "expected": slope(sizes, expected),
        "expected_last": slope(sizes[-LAST:], expected[-LAST:]),
    }
    found["off"] = (
        found["all"] > found["expected"] + SLACK
        or found["last"] > found["expected_last"] + SLACK
    )
    return found


def exponents(axis, rows, cores):
    """{time, memory: exponent()}, or None where the rows make no line."""
    if len(rows) < LEAST:
        return None
    sizes = [row["size"] for row in rows]
    return {
        "time": exponent(
            sizes,
            [row["ms"] for row in rows],
            [work(axis, row, cores) for row in rows],
        ),
        "memory": exponent(
            sizes,
            [row["mib"] for row in rows],
            [row["planned_mib"] for row in rows],
        ),
    }


def doublings(sizes, values):
    """[(doublings of the size, doublings of the value)] since the least size."""
    return [
        (math.log2(s / sizes[0]), math.log2(v / values[0]))
        for s, v in zip(sizes, values)
    ]
