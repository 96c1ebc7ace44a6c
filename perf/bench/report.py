"""From results to JSON, to the terminal and to a page of perf/results/."""

import argparse
import os
import statistics


def directory(path):
    """Of --write, for argparse: it must be there before hours of measuring."""
    if not os.path.isdir(path) or not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"no directory to write to: '{path}'")
    return path


def _seconds(summary):
    return (
        f"{summary['median']:.3f}",
        f"{summary['best']:.3f}",
        f"{summary['worst']:.3f}",
    )


def table(rows, texts=1):
    """Markdown, columns padded to be read as they are; texts: the first columns
    are texts, the others numbers."""
    widths = [max(3, *(len(r[i]) for r in rows)) for i in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [c.ljust(w) for c, w in zip(row[:texts], widths)]
        cells += [c.rjust(w) for c, w in zip(row[texts:], widths[texts:])]
        lines.append("| " + " | ".join(cells) + " |")
        if number == 0:
            rule = ["-" * w for w in widths[:texts]]
            rule += ["-" * (w - 1) + ":" for w in widths[texts:]]
            lines.append("| " + " | ".join(rule) + " |")
    return "\n".join(lines)


RATIO_COLUMNS = "of the rounds", "fastest"
MALLOC_COLUMN = "default malloc()"


def ratio_cells(ratio):
    """Of figures.ratio(): the median, and the RATIO_COLUMNS."""
    return (
        f"{ratio['median']:.2f}",
        f"{ratio['least']:.2f} to {ratio['most']:.2f}",
        f"{ratio['fastest']:.2f}",
    )


def malloc_cell(compared):
    """Of the MALLOC_COLUMN: what Comparison.outcome() found."""
    ratio = compared["default_malloc"]
    return f"{ratio['median']:.2f}" if ratio else "-"


def ratios(cases):
    rows = [
        (
            "case",
            "ours tokens/s",
            "PyTorch tokens/s",
            "ours / theirs",
            *RATIO_COLUMNS,
            MALLOC_COLUMN,
            "per CPU second",
            "ours, share of floor",
            "theirs",
        )
    ]
    for case in cases:
        r = case["ratio"]
        rows.append(
            (
                case["name"],
                f"{case['ours']['tokens_per_second']:.0f}",
                f"{case['theirs']['tokens_per_second']:.0f}",
                *ratio_cells(r),
                malloc_cell(case),
                f"{case['cpu_ratio']['median']:.2f}",
                f"{100 * case['ours']['share']:.0f} %",
                f"{100 * case['theirs']['share']:.0f} %",
            )
        )
    return table(rows)


def engine(share):
    """Of a core, in words; None: there is none."""
    return "-" if share is None else f"{100 * share:.2f} %"


def times(cases):
    rows = [
        (
            "case",
            "program",
            "median s",
            "best",
            "worst",
            "n",
            "CPU s",
            "switches",
            "others' cores",
            "peak GiB",
            "engine",
        )
    ]
    for case in cases:
        for who, name in (("ours", "mtlm-dag"), ("theirs", "PyTorch")):
            x = case[who]
            rows.append(
                (
                    case["name"],
                    name,
                    *_seconds(x["seconds"]),
                    str(x["seconds"]["n"]),
                    f"{x['cpu']:.2f}",
                    f"{x['switches']:.0f}",
                    f"{x['others']:.2f}",
                    f"{x['peak_bytes'] / 2**30:.2f}",
                    engine(x.get("engine")),
                )
            )
    return table(rows)


def floors(cases):
    rows = [
        (
            "case",
            "GFLOP",
            "products GF/s",
            "PyTorch's / ours",
            "floor s",
            "causal half s",
            "largest loss difference",
        )
    ]
    for case in cases:
        f = case["floor"]
        rows.append(
            (
                case["name"],
                f"{f['gflop']:.0f}",
                f"{f['gflops_per_second']:.0f}",
                f"{100 * case['gemm_share']:.0f} %",
                f"{f['seconds']:.3f}",
                f"{f['seconds_least']:.3f}",
                f"{case['loss_difference']:.1e}",
            )
        )
    return table(rows)


def settings(cases):
    """What PyTorch was tried with, the fastest first, and what did not run."""
    rows = [("case", "setting", "tried s", "in the rounds s")]
    failed = []
    for case in cases:
        measured = case["measured"]
        for text, seconds in sorted(case["tried"].items(), key=lambda t: t[1]):
            median = f"{measured[text]['median']:.3f}" if text in measured else "-"
            rows.append((case["name"], text, f"{seconds:.3f}", median))
        failed += [
            f"* {case['name']} did not run: {why}."
            for why in case.get("failed", {}).values()
        ]
    return "\n".join([table(rows, texts=2), *[""] * bool(failed), *failed])


# Options whose values are paths of this machine, or what the page says anyway.
PRIVATE = (
    *("--build", "--python", "--write", "--openblas", "--traces", "--runs"),
    *("--title", "--about"),
)


def public(words):
    """The command without paths of this machine."""
    out, skip = [], False
    for word in words:
        name = word.split("=")[0]
        if skip or name in PRIVATE:
            skip = not skip and "=" not in word
            continue
        out.append(word)
    return out


def machine_line(about):
    return (
        f"{about['model']} (family {about['family']}, model "
        f"{about['number']}), {about['cores']} cores"
        f"{' of a virtual machine' if about['virtual'] else ''}, "
        f"{about['vectors']}, {about['memory_gib']} GiB"
    )


def neighbours(worst):
    """Whether nobody else worked, in words.  worst: cores that other programs
    took, at most."""
    if worst < 0.05:
        return f"quiet: other programs took at most {worst:.2f} cores"
    return (
        f"NOISY: other programs took up to {worst:.2f} of the cores during a "
        "measurement"
    )


def quiet(cases):
    """As neighbours(), of comparisons."""
    return neighbours(
        max(c[w]["others_most"] for c in cases for w in ("ours", "theirs"))
    )


def peers(cases, bf16=False):
    """A line per PyTorch; cases: what has Comparison.peers_about()."""
    has = "products in bf16 have" if bf16 else "sgemm has"
    lines = []
    for each in zip(*(case["peers"] for case in cases)):
        shares = sorted({round(100 * peer["gemm_share"]) for peer in each})
        span = " to ".join(map(str, dict.fromkeys([shares[0], shares[-1]])))
        megatron = each[0].get("megatron")
        more = f", megatron-core {megatron}" if megatron else ""
        lines.append(
            f"* Theirs: PyTorch {each[0]['torch']}, {each[-1]['blas']}{more}; "
            f"its {has} {span} % of our speed."
        )
    return lines


def number_words(result):
    """In which numbers both compute."""
    if result["bf16"]:
        return (
            "bf16, ours by --bf16 and theirs by autocast or with bf16 weights; "
            "masters and moments of AdamW are float32"
        )
    return "float32"


def equal_work(numbers):
    """A line of the page; numbers: in which both compute."""
    return (
        f"* Equal work: forward, backward and AdamW on all parameters, in {numbers}. "
        "Decay 0.1 of weights, tied output layer, no dropout, no clipping. Both "
        "begin with the same weights and read the same samples. The losses of all "
        "iterations agree in every case of the tables."
    )


def over_fp32(cases):
    """Our bf16 over our fp32."""
    rows = [("case", "our bf16 / our fp32", *RATIO_COLUMNS)]
    for case in cases:
        r = case["over_fp32"]
        rows.append(
            (
                case["name"],
                *ratio_cells(r),
            )
        )
    return table(rows)


# Of the tables of ratios.
HOW_RATIOS = (
    "A ratio compares the medians of a round; the median of the rounds counts. "
    "Tokens per second are of all rounds. The column `fastest` "
    "compares the fastest iteration of each program, which a machine that slows "
    "down at times disturbs least."
)
# Of tables with the MALLOC_COLUMN.
HOW_MALLOC = (
    " PyTorch runs in its fastest setting. In the column `default malloc()` it "
    "runs in the fastest one that sets nothing for malloc()."
)


SETTINGS = (
    "PyTorch's settings, as processes x threads, and seconds of an iteration. A "
    "few iterations try each; the rounds measure the fastest, and the median "
    "decides. kept memory, huge pages: settings of malloc() for large tensors."
)


def page(result):
    cases = result["cases"]
    title = "Training in bf16" if result["bf16"] else "Training"
    lines = [f"# {title} against PyTorch", ""]
    lines += [
        f"    {result['command']}",
        "",
        f"* Machine: {machine_line(result['machine'])}; {quiet(cases)}.",
        f"* Ours: {result['ours']}, {result['blas']}.",
        *peers(cases, result["bf16"]),
        f"* {result['threads']} workers or threads; {result['rounds']} rounds, "
        f"programs in turn; in each {result['iterations']} iterations after "
        f"{result['warm_up']} to warm up, wall clock.",
        equal_work(number_words(result)),
        "",
        HOW_RATIOS + HOW_MALLOC,
        "",
        ratios(cases),
        "",
    ]
    if result["bf16"]:
        lines += ["Tokens per second, in the same rounds:", ""]
        lines += [over_fp32(cases), ""]
    lines += [f"* {name}: {why}." for name, why in result["skipped"].items()]
    lines += [""] * bool(result["skipped"])
    lines += [
        "Floor: the time of the matrix products alone, in "
        f"{'bf16' if result['bf16'] else 'fp32'}. Each product has the greater "
        "rate of both programs on its shape, the best of some rounds in the same "
        "run. Attention counts in full, as in model FLOPs, at the mean rate of "
        "the others. The share is floor / median time; it is above 100 % where the "
        "cores were slower while they measured the products.",
        "",
        floors(cases),
        "",
        "Seconds per iteration of all rounds. CPU s: median per iteration, "
        "with that of PyTorch's threads that spin. "
        "Switches: involuntary context switches per iteration, mean. "
        "Others' cores: CPU that other programs took meanwhile, mean. "
        "Engine: share of a core of our communication thread, at most.",
        "",
        times(cases),
        "",
        SETTINGS,
        "",
        settings(cases),
        "",
    ]
    return "\n".join(lines)


def combined(runs, tokens, floor):
    """Of one program: its runs, one of each round."""
    from bench import figures

    seconds = figures.summary([s for r in runs for s in r["seconds"]])
    every = [x for r in runs for x in r["switches"]]
    engines = [r["engine"] for r in runs if "engine" in r]
    return {
        "seconds": seconds,
        "engine": max(engines, default=None),
        "tokens_per_second": tokens / seconds["median"],
        "share": floor["seconds"] / seconds["median"],
        "cpu": statistics.median([x for r in runs for x in r["cpu"]]),
        "switches": statistics.mean(every),
        "others": statistics.mean([r["others"] for r in runs]),
        "others_most": max(r["others"] for r in runs),
        "peak_bytes": max(r["peak_bytes"] for r in runs),
        "rounds": [r["seconds"] for r in runs],
    }
