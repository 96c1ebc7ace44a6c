"""Figures of arXiv 2104.04473 as predictions: trends and optima, as the charts
have no numbers."""

import dataclasses
import typing

from bench import report
from bench.iterations import Row

BASE = {
    "set": "figure",
    "model": "",
    "cluster": "dgx-a100",
    "as": "2021",
    "data": 1,
    "virtual": 1,
    "sequence": 2048,
    "micro_batch": 1,
    "recompute": "full",
    "sequence_parallel": "no",
    "stage_layers": "",
    "vocabulary": 50257,
    "schedule": "",
    "seconds": 1.0,
    "fitted": "",
}


def flops(row):
    """Of an iteration with recomputed layers: equation 3 of the source."""
    s, l, h = row.sequence, row.layers, row.hidden
    return 96 * row.global_batch * s * l * h**2 * (
        1 + s / (6 * h) + 51200 / (16 * l * h)
    )


def speed(row):
    """Predicted TFLOP/s of a GPU, as the source counts; 0: it does not fit."""
    if row.memory and row.memory > row.room:
        return 0
    if "estimated" in row.fields:
        return estimate(row)
    gpus = row.tensor * row.pipeline * row.data
    return flops(row) / gpus / row.predicted / 1e12


def estimate(row):
    """Equation 1 of the source, of 8 stages: a batch has m microbatches, each of
    which takes as long as the iteration of the row."""
    m = row.estimated / row.micro_batch
    return m * flops(row) / ((m + 8 - 1) * row.predicted) / 1e12


def falls(values):
    return all(a > b for a, b in zip(values, values[1:]))


def without(trend):
    """Of {name: speeds}: the names of the curves without the trend."""
    return lambda speeds: [n for n, values in speeds.items() if not trend(values)]


def best(place):
    return without(lambda values: values.index(max(values)) == place)


@dataclasses.dataclass
class Figure:
    """curves: {name: [(x, fields of the row)]}.  fails: the names of the curves
    without the trend, of {name: speeds}.  why: said if there are any."""

    number: str
    settings: str
    trend: str
    curves: dict
    fails: typing.Callable
    why: str = ""

    def title(self):
        return f"{'Section' if '.' in self.number else 'Figure'} {self.number}"

    def rows(self):
        return [
            Row({**BASE, **fields})
            for points in self.curves.values()
            for _, fields in points
        ]

    def table(self, rows):
        """Predicted TFLOP/s, and the curves without the trend."""
        rows = iter(rows)
        speeds = {
            name: [speed(next(rows)) for _ in points]
            for name, points in self.curves.items()
        }
        first = next(iter(self.curves.values()))
        table = [("", *(str(x) for x, _ in first))]
        for name, values in speeds.items():
            table.append((name, *(f"{v:.0f}" if v else "-" for v in values)))
        return report.table(table), self.fails(speeds)


def _stages(batch):
    return [
        (
            f"PP {p}",
            {
                "tensor": 8,
                "pipeline": p,
                "layers": 3 * p,
                "hidden": 20480,
                "heads": 128,
                "global_batch": batch,
            },
        )
        for p in (1, 2, 4, 8)
    ]


def _batches(batches, **job):
    return [(f"B {batch}", {**job, "global_batch": batch}) for batch in batches]


def _chunks(v, code="2021"):
    return _batches(
        (12, 24, 36, 48, 60),
        **{"as": code},
        tensor=8,
        pipeline=12,
        virtual=v,
        layers=96,
        hidden=12288,
        heads=96,
    )


def _split(batch):
    return [
        (
            f"TP {t} PP {64 // t}",
            {
                "tensor": t,
                "pipeline": 64 // t,
                "layers": 32,
                "hidden": 20480,
                "heads": 128,
                "global_batch": batch,
            },
        )
        for t in (2, 4, 8, 16, 32)
    ]


def _small(kind, batch):
    return [
        (
            f"{n}",
            {
                "tensor": n if kind == "tensor" else 1,
                "pipeline": n if kind == "pipeline" else 1,
                "data": 64 // n,
                "layers": 32,
                "hidden": 3840,
                "heads": 32,
                "global_batch": batch,
            },
        )
        for n in (2, 4, 8, 16, 32)
    ]


def _micro(batch):
    return [
        (
            f"b {b}",
            {
                "tensor": 8,
                "pipeline": 8,
                "layers": 32,
                "hidden": 15360,
                "heads": 128,
                "micro_batch": b,
                "global_batch": batch,
            },
        )
        for b in (1, 2, 4, 8)
    ]


def _kept(recompute):
    return _batches(
        (1, 4, 16, 64, 256),
        tensor=8,
        pipeline=16,
        layers=80,
        hidden=12288,
        heads=96,
        recompute=recompute,
    )


def _stages_fail(speeds):
    flat, few = speeds["B 128"], speeds["B 8"]
    found = ["B 128"] if min(flat) < 0.9 * max(flat) else []
    return found + ([] if falls(few) and few[-1] < 0.6 * few[0] else ["B 8"])


def _gap_fails(speeds):
    gaps = [a / b for a, b in zip(speeds["v 4"], speeds["v 1"])]
    holds = falls(gaps) and gaps[0] > 1.1 and gaps[-1] > 1
    return [] if holds else ["v 4"]


def _scatter_fails(speeds):
    gains = [a / b for a, b in zip(speeds["scattered"], speeds["whole"])]
    holds = falls(gains[::-1]) and gains[0] > 1 and 1.02 < gains[-1] < 1.11
    return [] if holds else ["scattered"]


def _loss_fails(speeds):
    """Jobs that keep all and do not fit have no speed."""
    kept = [s for s in speeds["kept"] if s]
    shares = [a / b for a, b in zip(speeds["recomputed"], kept)]
    found = [] if all(0.62 < s < 0.8 for s in shares) else ["recomputed"]
    gains = speeds["recomputed"][-1] > 1.5 * max(kept)
    return found + ([] if gains else ["kept"])


def _fused(code):
    """Two layouts, as the source names none: that of figures 12 and 18 with the
    largest batch, and that of table 1."""
    small = {"layers": 96, "hidden": 12288, "heads": 96, "pipeline": 12}
    large = {"layers": 105, "hidden": 20480, "heads": 128, "pipeline": 35}
    return [
        (name, {"as": code, "tensor": 8, **model, "global_batch": batch})
        for name, model, batch in (
            ("175B, PP 12, B 60", small, 60),
            ("530B, PP 35, B 280", large, 280),
        )
    ]


def _fusion_fails(speeds):
    """The source: 113 to 135 and 133 to 148 TFLOP/s."""
    gains = [a / b for a, b in zip(speeds["fused"], speeds["unfused"])]
    near = zip(gains, (135 / 113, 148 / 133))
    return [] if all(abs(a - b) < 0.05 for a, b in near) else ["fused"]


def _alone():
    return [
        (
            f"b {b}",
            {
                "tensor": 1,
                "pipeline": 1,
                "layers": 4,
                "hidden": 4096,
                "heads": 128,
                "micro_batch": b,
                "global_batch": b,
            },
        )
        for b in (1, 2, 4, 8, 16)
    ]


def _estimated(batch):
    return [(x, {**job, "estimated": batch}) for x, job in _alone()]


def _micro_fails(speeds):
    """The source: up to 1.3 times as fast."""
    (values,) = speeds.values()
    holds = falls(values[::-1]) and 1.2 < values[-1] / values[0] < 1.4
    return [] if holds else list(speeds)


FIGURES = (
    Figure(
        "7",
        "1B on one GPU, an iteration of one micro batch b",
        "rises with b, up to 1.3 times",
        {"": _alone()},
        _micro_fails,
    ),
    Figure(
        "8",
        "the same, by (B / b + p - 1) iterations of b, p 8",
        "best with b 4",
        {"B 128": _estimated(128), "B 512": _estimated(512)},
        best(2),
        "b 4 is at most 1.5 % below the best of both, b 2 and b 8.",
    ),
    Figure(
        "11",
        "TP 8, 3 layers of h 20480 on a stage",
        "B 128: flat; B 8: 165 falls to 85",
        {"B 128": _stages(128), "B 8": _stages(8)},
        _stages_fail,
    ),
    Figure(
        "12",
        "175B, TP 8, PP 12",
        "interleaved is faster, by more than 10 % at first; the gap closes",
        {"v 1": _chunks(1), "v 4": _chunks(4)},
        _gap_fails,
    ),
    Figure(
        "13",
        "162B on 64 GPUs",
        "best with TP 8",
        {"B 32": _split(32), "B 128": _split(128)},
        best(2),
        "TP 4 and TP 8 are less than a percent apart at B 128: twice the stages "
        "fill longer, and smaller tensor-parallel groups send less. Where both "
        "were measured, predictions [tell them "
        "apart](#tensor-4-beside-tensor-8).",
    ),
    Figure(
        "14",
        "5.9B on 64 GPUs, PP (and DP)",
        "falls with PP",
        {f"B {b}": _small("pipeline", b) for b in (32, 128, 512)},
        without(falls),
    ),
    Figure(
        "15",
        "5.9B on 64 GPUs, TP (and DP)",
        "falls with TP, 125 to 25",
        {f"B {b}": _small("tensor", b) for b in (32, 128, 512)},
        without(falls),
    ),
    Figure(
        "16",
        "91B, TP 8, PP 8, micro batch b",
        "best with b 2; B 128 falls to 120",
        {"B 128": _micro(128), "B 512": _micro(512)},
        best(1),
    ),
    Figure(
        "17",
        "145B, TP 8, PP 16; FLOPs of recomputation count for both",
        "recomputation costs up to a third; with B 256 it doubles the speed, as "
        "layers that are kept fit with small batches only",
        {"recomputed": _kept("full"), "kept": _kept("none")},
        _loss_fails,
        "By the formulas of memory, layers that are kept take 67 of 80 GiB with "
        "any batch from 16 on. What else the code of 2021 held is not known.",
    ),
    Figure(
        "18",
        "175B, TP 8, PP 12, interleaved v 4; messages between stages scattered, "
        "or whole from every rank",
        "the gain grows with the batch, up to 11 %",
        {
            "scattered": _chunks(4),
            "whole": _chunks(4, "2021-unscattered"),
        },
        _scatter_fails,
        "The predicted gain is the same with every batch: a rank sends a message "
        "behind each pass, while the pipeline fills and afterwards.",
    ),
    Figure(
        "5.8",
        "fused kernels, TP 8; the source names no layout and no batch",
        "175B gains 19 % (113 to 135), 530B 11 % (133 to 148), each within 5 "
        "points",
        {"fused": _fused("2021"), "unfused": _fused("2021-unfused")},
        _fusion_fails,
    ),
)


def section(predict):
    """Lines of the page, and the numbers of the figures that do not hold.
    predict(row): sets what is predicted."""
    lines, failed = [], []
    for figure in FIGURES:
        rows = figure.rows()
        for row in rows:
            predict(row)
        table, fails = figure.table(rows)
        verdict = (
            f"does not hold for {', '.join(fails)}" if fails else "holds"
        )
        if fails:
            failed.append(figure.number)
        lines += [
            f"{figure.title()}: {figure.settings}. {figure.trend}: "
            f"{verdict}.",
            "",
            table,
            "",
        ]
        if fails and figure.why:
            lines += [figure.why, ""]
    return lines, failed
