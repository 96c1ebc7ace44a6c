"""How long an iteration of a pipeline takes at least, by what its stages
took.  Times in milliseconds."""

PHASES = "F", "B", "W"


def stage_times(summary, rows):
    """[{F, B, W: per microbatch; step, rest: per iteration}] by rank, of what
    its worker ran (trace.read).  The step is what waits for the norm."""
    m, windows = summary["run"]["microbatches"], summary["windows"]
    stages = [
        {name: 0 for name in (*PHASES, "step", "rest")}
        for _ in summary["ranks"]
    ]
    for row in rows:
        took = 1e-3 * (float(row["end_us"]) - float(row["start_us"]))
        steps = row["name"] in ("adam", "adam_master")
        kind = "step" if steps else "rest"
        if row["op"] in PHASES:
            kind, took = row["op"], took / m
        stages[int(row["rank"])][kind] += took / windows
    return stages


def work(stage):
    """Of a microbatch."""
    return sum(stage[phase] for phase in PHASES)


def equal_stages(stages, m):
    """The bound of 1F1B with the same work evenly spread, a share of
    (p - 1) / (m + p - 1) idle, and the longest step behind it."""
    p = len(stages)
    mean = sum(map(work, stages)) / p
    return (m + p - 1) * mean + max(s["step"] + s["rest"] for s in stages)


def measured_stages(stages, m):
    """A lower bound of any schedule, with B and W apart or together, of these
    stages, messages that take no time, and a norm that all steps wait for.

    A rank gets its first input when those before it have ended their steps
    and their first forward; then it has all its work to do, or all its F and
    B, after which the last B goes down to the first rank, whose last W comes
    behind that."""
    begin = least = 0
    for rank, stage in enumerate(stages):
        begin = max(begin, stage["step"])
        least = max(least, begin + m * work(stage) + stage["rest"])
        if rank:
            down = sum(s["B"] for s in stages[:rank]) + stages[0]["W"]
            least = max(least, begin + m * (stage["F"] + stage["B"]) + down)
        begin += stage["F"]
    return least


def figures(summary, rows):
    """What is reported of a traced run of a pipeline or of one stage."""
    m = summary["run"]["microbatches"]
    stages = stage_times(summary, rows)
    took = summary["makespan_ms"]
    # Of tensor-parallel ranks each is the whole pipeline.
    if summary["run"]["stages"] == 1:
        bounds = {"measured": max(measured_stages([s], m) for s in stages)}
    else:
        bounds = {
            "equal": equal_stages(stages, m),
            "measured": measured_stages(stages, m),
        }
    return {
        "makespan_ms": took,
        "bubble": summary["bubble_fraction"],
        "overlap": summary["overlap_fraction"],
        "stages": stages,
        "bounds": bounds,
        "over": {name: took / bound - 1 for name, bound in bounds.items()},
    }
