"""The published schedules: sources, closed formulas, memory, options.

p ranks of v virtual stages, m microbatches; F, B, W: times of a microbatch on a
rank, whose stages are equal; T = F + B + W.  Messages take no time.  Memory: in
microbatches, of the fullest rank.
"""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Schedule:
    """bubble(p, v, times): what the formula of the source adds to m T; None: the
    source has no formula.  stated(p, v): the bubble that the source states where
    F = B = W = 1; None: none."""

    name: str
    v: int
    source: str
    formula: str  # of the bubble
    bubble: typing.Optional[typing.Callable]
    stated: typing.Optional[typing.Callable]
    memory: typing.Callable  # of p, v, m
    followed: bool = False  # ranks follow the order without --schedule-mode
    v_shaped: bool = False

    def makespan(self, p, m, times):
        """By the formula; None: there is none."""
        if self.bubble is None:
            return None
        return m * sum(times) + self.bubble(p, self.v, times)

    def stated_makespan(self, p, m):
        """With the bubble that the source states, F = B = W = 1; None."""
        if self.stated is None:
            return None
        return 3 * m + self.stated(p, self.v)

    def options(self, mode):
        """Of mtlm-dag.  mode: strict or emergent."""
        how = mode if mode == "strict" else "windows" if self.followed else None
        return [
            *("--num-virtual-stages-per-pipeline-rank", str(self.v)),
            *("--schedule", self.name),
            *(("--schedule-mode", how) if how else ()),
        ]


def _fused(p, v, times):
    return (p - 1) * sum(times) / v


def _zb_h1(p, v, times):
    forward, backward, weight = times
    return (p - 1) * (forward + backward - weight)


def _zb_h2(p, v, times):
    forward, backward, weight = times
    return (p - 1) * (forward + backward - 2 * weight)


def _zb_v(p, v, times):
    return (p - 1) * times[0] / 2


def _share_of_1f1b(share):
    return lambda p, v: share * 3 * (p - 1)


def _of_1f1b_by_v(p, v):
    return 3 * (p - 1) / v


def _none(p, v):
    return 0


def _all(p, v, m):
    return m


def _once(p, v, m):
    return min(p, m)


def _interleaved(p, v, m):
    return min((2 * (p - 1) + (v - 1) * p + 1) / v, m)


def _zb_h2_memory(p, v, m):
    return min(2 * p - 1, m)


def _twice(p, v, m):
    return min(2 * p, m)


def _half(p, v, m):
    return min((p + 2) // 2, m)


def _third(p, v, m):
    return min((p + 4) // 3, m)


def _pairs(p, v, m):
    return min(p + 0.5, m)


_LOOP = "(p-1) T / v"
_ZERO_BUBBLE, _V = "arXiv 2401.10241", "arXiv 2405.15362"

SCHEDULES = (
    Schedule("gpipe", 1, "arXiv 1811.06965", "(p-1) T", _fused,
             _share_of_1f1b(1), _all),
    Schedule("1f1b", 1, "arXiv 2104.04473, 2.2.1", "(p-1) T", _fused,
             _share_of_1f1b(1), _once),
    Schedule("interleaved", 2, "arXiv 2104.04473, 2.2.2", _LOOP, _fused,
             _of_1f1b_by_v, _interleaved),
    Schedule("breadth-first", 2, "arXiv 2211.05953", _LOOP, _fused,
             _of_1f1b_by_v, _all, followed=True),
    Schedule("zb-h1", 1, _ZERO_BUBBLE, "(p-1) (F + B - W)", _zb_h1,
             _share_of_1f1b(1 / 3), _once),
    Schedule("zb-h2", 1, _ZERO_BUBBLE, "(p-1) (F + B - 2W), of one rank",
             _zb_h2, _none, _zb_h2_memory),
    Schedule("zb-1p", 1, _ZERO_BUBBLE + ", 3", "by search", None, None, _once,
             followed=True),
    Schedule("zb-2p", 1, _ZERO_BUBBLE + ", 3", "by search", None, _none, _twice,
             followed=True),
    Schedule("zb-v", 2, _V, "(p-1) F / 2", _zb_v, _none, _once, v_shaped=True),
    Schedule("v-half", 2, _V, "by construction", None, _share_of_1f1b(1 / 2),
             _half, followed=True, v_shaped=True),
    Schedule("v-min", 2, _V, "by construction", None, _share_of_1f1b(2 / 3),
             _third, followed=True, v_shaped=True),
    Schedule("dualpipe-v", 2, "github.com/deepseek-ai/DualPipe",
             "(p-1) (F&B + B - 3W), of half stages", None, _none, _pairs,
             followed=True, v_shaped=True),
)


def find(name):
    """The schedule of that name, or None."""
    return next((s for s in SCHEDULES if s.name == name), None)


def lacks(p, m):
    """What a size lacks that some schedule needs, in words; None: nothing."""
    if p < 2:
        return "two ranks"
    if m % p or m < 2 * p:
        return "microbatches that are 2, 3, ... times as many as the ranks"
    return None
