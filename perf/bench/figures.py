"""The arithmetic of the comparison.  No PyTorch here."""

import math
import statistics

from bench import cases

# The largest difference between two losses of the same iteration, relatively;
# of those below 1, such as a sentence order's, absolutely.
LOSS_BOUND = 1e-4
# The same where one of them computes in bf16: the two round at other places.  In
# 7 iterations ours were up to 0.04 % from our fp32.  A sentence order's loss is
# one sample's: up to 0.5 %.
BF16_BOUND = 2e-3, 2e-2
# The peer's products must come near to ours, else it has the wrong BLAS.
PEER_GEMM = 0.8


def _difference(x, y):
    return abs(x - y) / max(abs(y), 1)


def disagreement(ours, theirs, bound=LOSS_BOUND):
    """Why two series of losses are not those of the same training, or None.
    A series may hold a number or a list of numbers per iteration.  A bound may
    be two: of the first number, and of the others."""
    first, others = bound if isinstance(bound, tuple) else (bound, bound)
    if len(ours) != len(theirs) or not ours:
        return f"{len(ours)} losses against {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs), 1):
        a, b = (x if isinstance(x, (list, tuple)) else [x] for x in (a, b))
        if len(a) != len(b):
            return f"iteration {i}: {len(a)} kinds of loss against {len(b)}"
        for kind, (x, y) in enumerate(zip(a, b)):
            # Written so that NaN disagrees.
            if not _difference(x, y) <= (others if kind else first):
                return f"iteration {i}: loss {x:.6f} against {y:.6f}"
    return None


def largest_difference(ours, theirs):
    """Of series that agree."""
    flat = [
        (x, y)
        for a, b in zip(ours, theirs)
        for x, y in (
            zip(a, b) if isinstance(a, (list, tuple)) else [(a, b)]
        )
    ]
    return max(_difference(x, y) for x, y in flat)


def fastest(runs):
    """{name: rounds, each a list of times}: the name with the least median."""
    return min(runs, key=lambda name: statistics.median(sum(runs[name], [])))


def summary(values):
    return {
        "median": statistics.median(values),
        "best": min(values),
        "worst": max(values),
        "n": len(values),
    }


def ratio(ours, theirs):
    """Lists of rounds, each a list of times of iterations, wall clock or CPU.
    How many times our tokens per second are theirs: the median of the rounds,
    the smallest and the largest; fastest over fastest.  The medians of a round
    are compared: a machine whose speed drifts drifts for both."""
    each = [
        statistics.median(b) / statistics.median(a)
        for a, b in zip(ours, theirs)
    ]
    return {
        "median": statistics.median(each),
        "fastest": min(sum(theirs, [])) / min(sum(ours, [])),
        "least": min(each),
        "most": max(each),
    }


def product_names(case):
    """Of a case, as perf/gemm calls them."""
    return sorted({n for p in cases.products(case) for n in cases.three(p)})


def products_time(case, rates):
    """GFLOP and seconds of the products at these rates (GF/s by perf/gemm's
    names)."""
    flops = seconds = 0
    for (rows, out, into), number in cases.products(case).items():
        for name in cases.three((rows, out, into)):
            work = 2e-9 * rows * out * into * number
            flops += work
            seconds += work / rates[name]
    return flops, seconds


def floor(case, rates):
    """Seconds for the products alone at these rates, attention at the mean
    rate of the others: in full, as model FLOPs are counted, and half of it,
    which is what a causal model needs."""
    flops, seconds = products_time(case, rates)
    attention = 1e-9 * cases.attention_flops(case)
    mean = flops / seconds
    half = attention if case.model.bert else attention / 2
    return {
        "gflop": flops + attention,
        "gflops_per_second": mean,
        "seconds": seconds + attention / mean,
        "seconds_least": seconds + half / mean,
    }


def best_rates(before, now):
    """{product: GF/s}, the greater one of each."""
    return {name: max(rate, before.get(name, 0)) for name, rate in now.items()}


def gemm_share(case, ours, theirs):
    """How fast their products are, as a share of ours."""
    return products_time(case, ours)[1] / products_time(case, theirs)[1]


def median_interval(values):
    """Two of the values between which the median of what they are samples of
    lies with a probability of 95 % at least, whatever its distribution: as
    many samples are below it as heads are thrown."""
    ordered, n = sorted(values), len(values)
    outside, below = 0, 0
    while 2 * (outside + math.comb(n, below) / 2**n) <= 0.05:
        outside += math.comb(n, below) / 2**n
        below += 1
    if below == 0:
        raise ValueError(f"{n} values tell nothing of their median")
    return ordered[below - 1], ordered[n - below]


def longer(pairs):
    """Of pairs of times, without something and with it: what it adds, as a
    share of the time without it, in the median with its interval of 95 %."""
    each = [b / a - 1 for a, b in pairs]
    low, high = median_interval(each)
    return {
        "median": statistics.median(each),
        "low": low,
        "high": high,
        "rounds": each,
    }
