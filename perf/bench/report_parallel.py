"""The page of perf/parallel_vs_pytorch."""

from bench import report

# Ours against PyTorch; an iteration against what its stages must take.
BAR, NEAR = 1.3, 0.08

LOOPS = [
    "* Their loops, on gloo: own 1F1B, perf/bench/peer_pipeline.py (receives "
    "posted ahead); own, perf/bench/peer_tensor.py (Megatron-LM's f and g, the "
    "all-reduce under the weight gradient, vocabulary-parallel "
    "cross-entropy); torch GPipe, 1F1B and zero bubble, schedules of "
    "torch.distributed.pipelining; DDP, torch's DistributedDataParallel; "
    "megatron-core, its GPTModel of local layers with its schedules and its "
    "DistributedDataParallel on CPUs (perf/bench/peer_megatron.py), fused "
    "operations compiled or none.",
]


def ratios(layouts):
    rows = [
        (
            "layout",
            "ours tokens/s",
            "PyTorch tokens/s",
            "its loop",
            "ours / theirs",
            *report.RATIO_COLUMNS,
            report.MALLOC_COLUMN,
            "per CPU second",
            f"bar {BAR}",
            "largest loss difference",
        )
    ]
    for each in layouts:
        r = each["ratio"]
        rows.append(
            (
                each["name"],
                f"{each['ours']['tokens_per_second']:.0f}",
                f"{each['theirs']['tokens_per_second']:.0f}",
                each["loop"],
                *report.ratio_cells(r),
                report.malloc_cell(each),
                f"{each['cpu_ratio']['median']:.2f}",
                "reached" if r["median"] >= BAR else "MISSED",
                f"{each['loss_difference']:.1e}",
            )
        )
    return report.table(rows)


def bound(schedule, name):
    """Two cells."""
    if name not in schedule["bounds"]:
        return "-", "-"
    return (
        f"{schedule['bounds'][name]:.0f}",
        f"{100 * schedule['over'][name]:+.1f} %",
    )


def schedules(layouts):
    rows = [
        (
            "layout",
            "iteration ms",
            "bubble",
            "communication hidden",
            "equal stages ms",
            "ours",
            "measured stages ms",
            "ours",
            f"within {100 * NEAR:.0f} %",
        )
    ]
    for each in layouts:
        s = each["schedule"]
        over = s["over"]["measured"]
        rows.append(
            (
                each["name"],
                f"{s['makespan_ms']:.0f}",
                f"{100 * s['bubble']:.1f} %",
                "-" if s["overlap"] is None else f"{100 * s['overlap']:.0f} %",
                *bound(s, "equal"),
                *bound(s, "measured"),
                "yes" if over <= NEAR else "NO",
            )
        )
    return report.table(rows)


def stages(layouts):
    rows = [("layout", "rank", "F ms", "B ms", "W ms", "step ms", "rest ms")]
    for each in layouts:
        for rank, stage in enumerate(each["schedule"]["stages"]):
            rows.append(
                (
                    each["name"],
                    str(rank),
                    *(f"{stage[k]:.1f}" for k in ("F", "B", "W", "step", "rest")),
                )
            )
    return report.table(rows)


def page(result):
    layouts = result["layouts"]
    lines = [
        "# Two processes against torch.distributed",
        "",
        f"    {result['command'].strip()}",
        "",
        "GPT-2 124M, 4 microbatches of 1x256, two processes of one thread on "
        "two cores: P2, a pipeline of 6 and 6 layers; P2-9-3, of 9 and 3, "
        "about even with the output layer; T2, tensor-parallel; D2, "
        "data-parallel, 2 microbatches each.",
        "",
        f"* Machine: {report.machine_line(result['machine'])}; "
        f"{report.quiet(layouts)}.",
        f"* Ours: {result['ours']}, {result['blas']}, Open MPI; the default "
        "schedule (B and W apart, memory of 1F1B), of P2-9-3 zb-2p (up to "
        "twice that memory), unless the command says another; traced while it "
        "is measured.",
        *report.peers([result]),
        *LOOPS,
        f"* {result['rounds']} rounds, programs in turn; in each "
        f"{result['iterations']} iterations after {result['warm_up']} to warm "
        "up, wall clock; processes are not bound to cores; of PyTorch's "
        "settings the fastest in the rounds counts.",
        report.equal_work("float32"),
        "",
        report.HOW_RATIOS + report.HOW_MALLOC,
        "",
        ratios(layouts),
        "",
    ]
    lines += [f"* {name}: {why}." for name, why in result["skipped"].items()]
    lines += [
        "Ours against its bounds, of the round in the middle. Equal stages: "
        "1F1B with the work of the nodes evenly spread, (m + p - 1) "
        "microbatches and the longest step; a schedule with B and W apart, or "
        "uneven stages, can take less or more. Measured stages: what no "
        "schedule of these stages can do without, messages taking no time "
        "(perf/bench/bounds.py); that is the bound to be near. Of T2 and D2 it "
        "is the slower rank's work.",
        "",
        schedules(layouts),
        "",
        "Times of nodes, per microbatch, and of an iteration's step (AdamW) "
        "and the rest:",
        "",
        stages(layouts),
        "",
        "Seconds per iteration of all rounds, CPU and memory of both "
        "processes together; further as in train_vs_pytorch.",
        "",
        report.times(layouts),
        "",
        f"The matrix products alone take {result['floor']['seconds']:.3f} s on "
        f"two cores ({result['floor']['gflops_per_second']:.0f} GF/s).",
        "",
        report.SETTINGS,
        "",
        report.settings(layouts),
        "",
    ]
    return "\n".join(lines + [""])
