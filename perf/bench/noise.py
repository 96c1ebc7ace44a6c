"""Plans under noise: what mtlm-dag --dry-run --jitter says of each mode, and the
tables of perf/noise.  Times in units of F of a rank."""

import collections
import os
import re
import tempfile

from bench import intervals, report, sleeping
from bench.intervals import Share
from bench.ours import Failure

POLICIES = "prio", "mtlm"
LAYERS = 8  # of a rank: four pieces of W on each of two virtual stages
UNIT = 1000  # milliseconds
SCHEDULES = "1f1b", "zb-h1", "zb-v", "auto"
# F, B, W of a rank and a message, fast and slow.
TIMES = (1, 1.2, 0.9, 0.05), (1, 1.3, 0.8, 0.5)

# p, m, times, noise (--jitter), schedule; of a result also strict, a Share of
# seconds, and beside, {(mode, policy): Share of per cent}.
Setting = collections.namedtuple("Setting", "p m times noise schedule")
Result = collections.namedtuple("Result", (*Setting._fields, "strict", "beside"))

NUMBER = r"([+-]?[0-9.]+(?:e[+-]?[0-9]+)?)"
LINE = re.compile(
    rf"^jitter +[^\n]*?: strict {NUMBER} s \+- {NUMBER} %;\n +beside it (.*)$",
    re.M,
)
MODE = re.compile(rf"(hint|windows|without [^,]*?) {NUMBER} \+- {NUMBER} %")


def settings_of(jobs, noises):
    return [
        Setting(p, m, times, noise, schedule)
        for p, m in jobs
        for times in TIMES
        for schedule in SCHEDULES
        for noise in noises
    ]


def modes_of(text):
    """(strict: Share of seconds, {mode: Share of per cent beside strict}) of a
    plan."""
    line = LINE.search(text)
    if not line:
        raise Failure(f"mtlm-dag --dry-run --jitter says no modes:\n{text}")
    mean, half = float(line[1]), float(line[2])
    beside = {
        mode.split()[0]: Share(float(more), float(about))
        for mode, more, about in MODE.findall(line[3])
    }
    # Some schedules always have their order: windows alone are emergent.
    emergent = beside.get("without", beside.get("windows"))
    if "hint" not in beside or not emergent:
        raise Failure(f"mtlm-dag --dry-run --jitter lacks a mode:\n{text}")
    return (
        Share(mean, half / 100 * mean),
        {"hint": beside["hint"], "emergent": emergent},
    )


def _plan(ours, setting, policy):
    mode = ["--schedule-mode", "strict"] if setting.schedule != "auto" else []
    with tempfile.TemporaryDirectory() as work:
        cluster = os.path.join(work, "cluster.ini")
        *times, hop = (UNIT * x for x in setting.times)
        sleeping.describe(cluster, times, hop)
        return sleeping.plan(
            ours,
            [
                *sleeping.options(LAYERS * setting.p, setting.m, setting.p),
                *("--schedule", setting.schedule, *mode),
                *("--synthetic", cluster, "--jitter", setting.noise),
            ],
            policy,
        )


def result(setting, plan):
    """plan(policy): what mtlm-dag --dry-run prints."""
    beside, strict = {}, None
    for policy in POLICIES:
        took, modes = modes_of(plan(policy))
        beside.update({(mode, policy): modes[mode] for mode in modes})
        # auto may have another order under mtlm; the policy itself does not
        # change a strict order.
        strict = strict or took
    return Result(*setting, strict, beside)


def evaluate(ours, setting):
    return result(setting, lambda policy: _plan(ours, setting, policy))


# ---- tables ----

COLUMNS = tuple((mode, policy) for mode in ("hint", "emergent")
                for policy in POLICIES)


def cells(row):
    return (
        row.schedule,
        row.noise,
        f"{row.strict.mean:.2f} ±{row.strict.half:.2f}",
        *(
            f"{row.beside[c].mean:+.2f} ±{row.beside[c].half:.2f}"
            for c in COLUMNS
        ),
    )


def table(rows, what="noise"):
    head = ("schedule", what, "strict", *(", ".join(c) for c in COLUMNS))
    return report.table([head, *map(cells, rows)])


def count(rows, column):
    """intervals.count() of a column, in per cent."""
    return intervals.count([row.beside[column] for row in rows])


def verdicts(rows):
    """Sentences, results against dynamic orders first."""
    counts = [(c, count(rows, c)) for c in COLUMNS]
    counts.sort(key=lambda found: (-found[1]["longer"], -found[1]["worst"]))
    return [
        "{0}, {1}: longer than strict in {longer} of {rows} rows, by "
        "{worst:+.2f} % at most; shorter in {shorter}, by {best:+.2f} % at most; "
        "{mean:+.2f} % on average.".format(*column, **found)
        for column, found in counts
    ]
