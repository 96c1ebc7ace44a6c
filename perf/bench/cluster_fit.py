"""Fits one number of a cluster file to measured iterations."""

import csv
import math
import re
import shlex
import statistics

from bench.ours import Failure

STEPS = 30  # of the golden section: the number to 1 in 10^5
NEAR = 1e-3  # of a bound, relative
GOLDEN = (math.sqrt(5) - 1) / 2


def read_rows(path):
    """[(seconds, options)] of lines "seconds,options of mtlm-dag"."""
    rows = []
    try:
        with open(path, encoding="utf-8") as file:
            lines = list(csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as why:
        raise Failure(f"{path}: is no CSV file of text: {why}") from None
    for number, line in enumerate(lines, 1):
        if not line or line[0].startswith("#"):
            continue
        try:
            seconds = float(line[0])
            options = shlex.split(",".join(line[1:]))
        except ValueError:
            seconds, options = 0, []
        if not (seconds > 0 and math.isfinite(seconds) and options):
            raise Failure(
                f"{path}:{number}: not of the form SECONDS,OPTIONS"
            )
        rows.append((seconds, options))
    if not rows:
        raise Failure(f"{path}: has no rows")
    return rows


def _line(text, section, key):
    """The match of the line of that key: begin, value, end."""
    found, at = None, ""
    for match in re.finditer(
        r"^[ \t]*(?:\[([^\]\n]*)\].*|((\w+)\s*=\s*)([^\s;#]+)(.*))$",
        text, re.M
    ):
        if match[1]:
            at = match[1]
        elif (at, match[3]) == (section, key):
            found = match
    if not found:
        raise Failure(f"the cluster file has no {key} in section [{section}]")
    return found


def value_of(text, section, key):
    text = _line(text, section, key)[4]
    try:
        return float(text)
    except ValueError:
        raise Failure(f"{key} = {text} of section [{section}] is no number") \
            from None


def with_value(text, section, key, value):
    """The file with another number, and without the comment behind it."""
    match = _line(text, section, key)
    return f"{text[:match.start()]}{match[2]}{value:.6g}{text[match.end():]}"


def errors(rows, predict):
    """Predicted over measured seconds, less 1.  predict(options): seconds."""
    return [predict(options) / seconds - 1 for seconds, options in rows]


def mean_size(values):
    return statistics.mean(abs(value) for value in values)


def bounds(begin, most=math.inf):
    """Of the search: a quarter of `begin` to four times, at most `most`."""
    if not 0 < begin <= most:
        raise Failure(f"the search cannot begin with {begin:g}")
    return begin / 4, min(4 * begin, most)


def is_bound(value, begin, most=math.inf):
    """Whether the search ended at a bound: beyond it may be better numbers."""
    return any(abs(value / bound - 1) < NEAR for bound in bounds(begin, most))


def has_effect(rows, predict, begin, most=math.inf):
    """Whether any row's seconds depend on the number."""
    low, high = bounds(begin, most)
    return any(predict(low, o) != predict(high, o) for _, o in rows)


def fit(rows, predict, begin, most=math.inf):
    """The number within the bounds with the least mean error.
    predict(value, options): seconds."""

    def distance(log):
        value = math.exp(log)
        return mean_size(errors(rows, lambda o: predict(value, o)))

    low, high = map(math.log, bounds(begin, most))
    left = high - GOLDEN * (high - low)
    right = low + GOLDEN * (high - low)
    of_left, of_right = distance(left), distance(right)
    for _ in range(STEPS):
        if of_left < of_right:
            high, right, of_right = right, left, of_left
            left = high - GOLDEN * (high - low)
            of_left = distance(left)
        else:
            low, left, of_left = left, right, of_right
            right = low + GOLDEN * (high - low)
            of_right = distance(right)
    return math.exp((low + high) / 2)
