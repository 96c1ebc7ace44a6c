"""What perf/published says beside its rows: bars, and what explains misses."""

from bench import iterations, report

# Tables 4 and 6 of arXiv 2401.10241: passes of a microbatch in ms, F, B and W,
# with the most microbatches; of 14.6B with the fewest, 48.
PASSES = {
    "1.5B": (18.546, 18.097, 9.321),
    "6.2B": (29.935, 29.621, 19.388),
    "14.6B": (11.347, 11.248, 8.132),
    "28.3B": (10.402, 10.248, 7.698),
}
# The same source, table 4: memory of the fullest device in GB.
MEMORY = {
    "1.5B": (30, 40, 32, 59),
    "6.2B": (39, 48, 42, 70),
    "14.6B": (32, 39, 33, 51),
    "28.3B": (43, 58, 44, 74),
}


def _holds(text, value, most):
    """A line on a bar: the text, what was found, and whether the bar holds."""
    return text, f"{value:.1f} %", "holds" if value <= most else "does not hold"


def _of(rows, *sets):
    return [row for row in rows if row.set in sets]


def _tables(rows):
    papers = _of(rows, "V1.0", "2021", "2022")
    first, rest = _of(rows, "2019"), _of(rows, "2019 more")
    found = []
    if papers:
        _, median, worst = iterations.errors(papers)
        found += [
            _holds("V1.0, 2021 and 2022: median at most 3 %", median, 3),
            _holds("V1.0, 2021 and 2022: worst at most 8 %", worst, 8),
        ]
    if first:
        found.append(
            _holds("2019: worst at most 10 %", iterations.errors(first)[2], 10)
        )
    if rest:
        worst = iterations.errors(rest)[2]
        found.append(_holds("2019 more: worst at most 10 %", worst, 10))
    return found


def _others(rows, without):
    others = _of(rows, "vTrain")
    if not others:
        return []
    mean, median, _ = iterations.errors(others)
    eight = [row for row in others if row.tensor == 8]
    return [
        _holds("vTrain, nothing fitted: mean at most 9 %", without[0], 9),
        _holds("vTrain, three constants: mean at most 7.5 %", mean, 7.5),
        _holds("vTrain, three constants: median at most 3.5 %", median, 3.5),
        _holds(
            "vTrain, tensor 8: mean at most 4 %", iterations.errors(eight)[0], 4
        ),
    ]


def _fits(rows):
    """At most one number for a machine and code; vTrain's machine: three."""
    sets = {row.set for row in rows if row.fitted}
    most = max(
        (sum(bool(row.fitted) for row in _of(rows, s)) for s in sets - {"vTrain"}),
        default=0,
    )
    return (
        "one number fitted for a machine and code",
        f"{most}",
        "holds" if most <= 1 else "does not hold",
    )


def _room(rows):
    """All of these jobs ran: the memory of their code fits their devices."""
    fits = sum(row.memory <= row.room for row in rows)
    return (
        "the memory of every row fits its device",
        f"{fits} of {len(rows)}",
        "holds" if fits == len(rows) else "does not hold",
    )


def bars(rows, without, failed):
    """Lines on the bars.  without: errors of vTrain's rows with nothing fitted,
    or None.  failed: figures that do not hold; None: not compared."""
    table = [("bar", "found", ""), _fits(rows)]
    table += _tables(rows) + _others(rows, without)
    if all(row.room for row in rows):
        table.append(_room(rows))
    if failed is not None:
        what = f"{', '.join(failed)} miss" if failed else "all"
        table.append(
            (
                "figures 7, 8, 11 to 18: trends and optima",
                what,
                "does not hold" if failed else "holds",
            )
        )
    return ["## Bars", "", report.table(table), ""]


def epochs(rows, predict):
    """Lines on the days of an epoch.  predict(row): seconds."""
    table = [
        (
            "model",
            "published s",
            "reductions beside B",
            "reductions after B",
            "left of the second",
        )
    ]
    for row in _of(rows, "2019 more"):
        if row.fields["as"] != "megatron-2019" or "beside" in row.model:
            continue
        later = iterations.Row({**row.fields, "as": "2019-unoverlapped"})
        later.predicted = predict(later)
        table.append(
            (
                f"{row.model}, {row.tensor} x {row.pipeline} x {row.data}",
                f"{row.seconds:.4g}",
                f"{row.predicted:.4g} ({row.error():+.1f} %)",
                f"{later.predicted:.4g} ({later.error():+.1f} %)",
                f"{row.seconds - later.predicted:.2g}",
            )
        )
    if len(table) == 1:
        return []
    return [
        "## Days of an epoch",
        "",
        "Table 2 of arXiv 1909.08053 gives days for 68,507 iterations of 512 "
        "samples. Days hold what a simulation leaves out: data, checkpoints, and "
        "validation, which adds 2.5 % with the defaults of Megatron-LM (100 "
        "batches every 1000 iterations). The 8.3B model took 2.648 s an iteration "
        "by its days, and 2.423 s by the 15.1 PFLOP/s of the same source, with "
        "more heads. The source does not say whether these trainings reduced "
        "gradients beside B. Reductions after B explain 8.3B. The single GPU's "
        "row of the same code is 5.1 % short, and 355M and 2.5B are as well. The "
        "rest of 2.5B has no known reason. Nothing is fitted to these rows.",
        "",
        report.table(table),
        "",
    ]


def _step(rows, seconds):
    """Seconds that a microbatch more takes: of the two longest rows."""
    short, long = sorted(rows, key=lambda row: row.global_batch)[-2:]
    microbatches = (long.global_batch - short.global_batch) / long.micro_batch
    return (seconds(long) - seconds(short)) / microbatches


def passes(rows):
    """Lines on the passes of the zero-bubble source."""
    table = [("model", "profile: F + B + W", "its 1F1B", "predicted 1F1B")]
    for model, times in PASSES.items():
        of_model = [row for row in _of(rows, "ZB") if row.model == model]
        if len(of_model) < 2:
            continue
        published = _step(of_model, lambda row: row.seconds)
        predicted = _step(of_model, lambda row: row.predicted)
        table.append(
            (
                model,
                f"{sum(times):.1f} ms",
                f"{1000 * published:.1f} ms",
                f"{1000 * predicted:.1f} ms",
            )
        )
    if len(table) == 1:
        return []
    return [
        "## Passes of arXiv 2401.10241",
        "",
        "What a microbatch more costs the busiest stage: by the profile of the "
        "source (table 6), by two of its iterations (table 4), and predicted. Its "
        "iterations are 7 to 13 % longer than its profile. Bubbles of 1F1B-I by "
        "the same profile promise 18 % over 1F1B for 1.5B and 24 microbatches; "
        "its table 4 has 11 %. Stages of one layer send three times the messages, "
        "which wait for both ends. ZB-1p and ZB-2p there have an optimizer that "
        "ranks enter one by one; ours is one for all, as in the rows ZB-2p sync.",
        "",
        report.table(table),
        "",
    ]


def memory(rows):
    """Lines on measured memory and that of the formulas."""
    sets = "ZB", "ZB-I", "ZB-1p", "ZB-2p"
    table = [("model", "1F1B", "1F1B-I", "ZB-1p", "ZB-2p")]
    for model, measured in MEMORY.items():
        cells = []
        for name, gb in zip(sets, measured):
            found = [row.memory for row in _of(rows, name) if row.model == model]
            if found:
                cells.append(f"{max(found) / iterations.GIB:.1f} ({gb})")
        if len(cells) == len(sets):
            table.append((model, *cells))
    if len(table) == 1:
        return []
    return [
        "## Memory of arXiv 2401.10241",
        "",
        "GiB of the fullest device by the formulas of arXiv 2205.05198, and in "
        "brackets the measured GB of the source's table 4. The formulas have no "
        "fitted number, and count no gradients of activations.",
        "",
        report.table(table),
        "",
    ]


def _pairs(rows):
    """Pairs of vTrain's rows that differ in tensor-parallel size, 4 and 8, and
    in one more size: each row of 4 with the row of 8 of the nearest pipeline."""
    rows = _of(rows, "vTrain")
    for four in rows:
        others = [
            row
            for row in rows
            if four.tensor == 4
            and row.tensor == 8
            and row.pipeline in (four.pipeline // 2, four.pipeline)
            and (row.model, row.micro_batch, row.global_batch)
            == (four.model, four.micro_batch, four.global_batch)
        ]
        if others:
            yield four, min(others, key=lambda row: row.pipeline)


def tensor_sizes(rows):
    """Lines on tensor-parallel size 4 beside 8."""
    table = [("model", "tensor 4", "tensor 8", "measured", "predicted")]
    for four, eight in _pairs(rows):
        measured = 100 * (four.seconds / eight.seconds - 1)
        predicted = 100 * (four.predicted / eight.predicted - 1)
        table.append(
            (
                four.model,
                four.job(),
                eight.job(),
                f"{measured:+.1f} %",
                f"{predicted:+.1f} %",
            )
        )
    if len(table) == 1:
        return []
    return [
        "## Tensor 4 beside tensor 8",
        "",
        "Jobs of vTrain that were measured with both sizes, of one micro batch: "
        "how much longer an iteration takes with 4 than with 8.",
        "",
        report.table(table),
        "",
    ]
