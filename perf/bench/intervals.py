"""Means with intervals of 95 % (Student's t)."""

import collections
import math
import statistics

# half: of the interval; infinite for a single value.
Share = collections.namedtuple("Share", "mean half")
LEVEL = 0.95
ROUNDING = 1e-6  # per cent: clocks count nanoseconds


def within(t, freedom):
    """The probability of -t to t under Student's t, by the finite series of
    Abramowitz, Stegun, "Handbook of mathematical functions", 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term, total = (math.cos(angle), 0.0) if odd else (1.0, 0.0)
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= square * k / (k + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def student(freedom):
    """97.5 % of Student's t with that many degrees of freedom, by bisection."""
    least, most = 0.0, 16.0
    for _ in range(60):
        middle = (least + most) / 2
        if within(middle, freedom) < LEVEL:
            least = middle
        else:
            most = middle
    return (least + most) / 2


def interval(values):
    """The Share of some values: their mean and half of its interval."""
    n = len(values)
    if n == 1:
        return Share(values[0], math.inf)
    spread = statistics.stdev(values)
    half = student(n - 1) * spread / math.sqrt(n) if spread else 0.0
    return Share(statistics.fmean(values), half)


def count(shares):
    """Of shares in per cent: {rows, longer, shorter: whose interval is above or
    below 0; worst, best, mean: of the means}"""
    return {
        "rows": len(shares),
        "longer": sum(x.mean - x.half > ROUNDING for x in shares),
        "shorter": sum(x.mean + x.half < -ROUNDING for x in shares),
        "worst": max(x.mean for x in shares),
        "best": min(x.mean for x in shares),
        "mean": sum(x.mean for x in shares) / len(shares),
    }
