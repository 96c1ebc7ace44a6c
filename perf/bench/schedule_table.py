"""From what perf/schedules ran to its tables.  Times in units of F of a rank.

A cell is one job's figures: planned, measured, least, more (% of the evaluation
with the run's own messages), spread (% between iterations), memory, others.  A
row has the cells of a schedule in a setting, by mode.
"""

import re
import statistics

from bench import published, report
from bench.ours import Failure

# How ranks follow a schedule, and StarPU's policy.
MODES = (
    ("strict", "prio"),
    ("emergent", "prio"),
    ("emergent", "mtlm"),
    ("auto", "prio"),
    ("auto", "mtlm"),
)
NAMES = {mode: mode[0] if mode[0] == "strict" else ", ".join(mode)
         for mode in MODES}
BAR, BAR_SHORT = 2, 0.5  # %

SECONDS = re.compile(r"^schedule +\S+: ([0-9.e+-]+) s an iteration", re.M)
LEAST = re.compile(r"no schedule takes less than ([0-9.e+-]+) s")
PROVED = re.compile(
    r"^bound +(?:in this memory no schedule takes less|"
    r"linear programs prove no more) than ([0-9.e+-]+) s", re.M)
WAITS = re.compile(r"^ +([0-9.e+-]+) s, .*% less, where workers wait", re.M)
ACT_MEM = re.compile(r"^schedule auto: .*--act-mem (\d+)$", re.M)
CHOICE = re.compile(r"^schedule auto: (.*) --act-mem \d+$", re.M)


def plan_of(text, policy):
    """{planned, least: seconds; choice: of auto, or None} that --dry-run
    prints.  Under policy mtlm workers wait for messages."""
    seconds, least = SECONDS.search(text), LEAST.search(text)
    if not seconds or not least:
        raise Failure(f"mtlm-dag --dry-run says no seconds:\n{text}")
    waits, choice = WAITS.search(text), CHOICE.search(text)
    if policy == "mtlm" and waits:
        seconds = waits
    return {
        "planned": float(seconds[1]),
        "least": float(least[1]),
        "choice": choice[1] if choice else None,
    }


def act_mem_of(text):
    """The limit in bytes that a plan of --schedule auto prints."""
    found = ACT_MEM.search(text)
    if not found:
        raise Failure(f"mtlm-dag --schedule auto says no --act-mem:\n{text}")
    return int(found[1])


def proved_of(text):
    """The seconds that a plan with --bound lp proves."""
    found = PROVED.search(text)
    if not found:
        raise Failure(f"mtlm-dag --bound lp says no bound:\n{text}")
    return float(found[1])


def spread(values):
    """Of the iterations of a run, in % of their median."""
    return 100 * (max(values) - min(values)) / statistics.median(values)


def off(a, b):
    """By how many % a is above b."""
    return 100 * (a / b - 1)


def percent(value, digits=1):
    return f"{value:+.{digits}f} %"


# ---- what the sources say ----


def _number(value):
    return "-" if value is None else f"{value:.4g}"


def sources(schedules, p, m):
    rows = [
        ("schedule", "source", "bubble beyond m T", "formula", "stated",
         "memory")
    ]
    for s in schedules:
        rows.append(
            (
                s.name,
                s.source,
                s.formula,
                _number(s.makespan(p, m, (1, 1, 1))),
                _number(s.stated_makespan(p, m)),
                _number(s.memory(p, s.v, m)),
            )
        )
    return report.table(rows)


# ---- the rows of a setting ----


def _pair(cell):
    return f"{cell['planned']:.2f} {cell['measured']:.2f}" if cell else "failed"


def _peaks(cells):
    """The most memory of each way to follow a schedule."""
    kinds = dict.fromkeys(kind for kind, _ in MODES)
    for mode, cell in cells.items():
        kinds[mode[0]] = max(kinds[mode[0]] or 0, cell["memory"])
    return " / ".join(_number(most) for most in kinds.values())


def worst(cells):
    """The largest distance of a run from its evaluation, in %."""
    return max((c["more"] for c in cells), key=abs, default=None)


def _row(row):
    cells = row["cells"]
    most = worst(cells.values())
    least = [c["least"] for (kind, _), c in cells.items() if kind == "strict"]
    return (
        row["schedule"],
        _number(row["formula"]),
        f"{least[0]:.2f}" if least else "-",
        *(_pair(cells.get(mode)) for mode in MODES),
        _peaks(cells),
        "-" if most is None else percent(most),
    )


def setting(rows):
    """The table of one setting."""
    titles = ["schedule", "formula", "bound", *NAMES.values()]
    return report.table(
        [(*titles, "memory", "measured / evaluated"), *map(_row, rows)]
    )


# ---- auto beside the published orders ----


def beside(rows):
    """{memory: (row of the best published order within it, auto's cell)} of one
    setting, for the policy that auto is shorter under, as measured."""
    found = {}
    strict = [r for r in rows if ("strict", "prio") in r["cells"]]
    for row in rows:
        autos = [
            (mode[1], cell)
            for mode, cell in row["cells"].items()
            if mode[0] == "auto"
        ]
        fits = [r for r in strict if r["memory"] <= row["memory"]]
        if autos and fits:
            found[row["memory"]] = (
                min(fits, key=lambda r: r["cells"]["strict", "prio"]["planned"]),
                min(autos, key=lambda a: a[1]["measured"]),
            )
    return found


def auto_table(settings):
    """settings: {title: rows}"""
    table = [
        ("F, B, W, message", "memory", "best published, strict", "auto under",
         "evaluated", "measured")
    ]
    for title, rows in settings.items():
        for memory, (row, (policy, cell)) in sorted(beside(rows).items()):
            best = row["cells"]["strict", "prio"]
            table.append(
                (
                    title,
                    _number(memory),
                    f"{row['schedule']} {_pair(best)}",
                    f"{policy} {_pair(cell)}",
                    percent(off(cell["planned"], best["planned"])),
                    percent(off(cell["measured"], best["measured"])),
                )
            )
    return report.table(table)


# ---- the runtime beside its evaluation ----


def distances(rows):
    """[(orders, runs, median and worst of |%|, schedule of the worst, median and
    worst of |%| to the plan)], of each mode and of all.  A job that stands in
    several rows counts once."""
    out = []
    for name, modes in [*((NAMES[m], [m]) for m in MODES), ("all", MODES)]:
        found = {
            id(r["cells"][m]): (abs(r["cells"][m]["more"]), r["schedule"],
                                abs(off(r["cells"][m]["measured"],
                                        r["cells"][m]["planned"])))
            for r in rows
            for m in modes
            if m in r["cells"]
        }.values()
        if found:
            most = max(found)
            plan = [f[2] for f in found]
            out.append(
                (name, len(found), statistics.median(f[0] for f in found),
                 most[0], most[1], statistics.median(plan), max(plan))
            )
    return out


def distance_table(rows):
    table = [("orders", "runs", "median", "worst", "of", "to the plan",
              "worst")]
    for name, runs, middle, most, of, *plan in distances(rows):
        table.append(
            (name, str(runs), f"{middle:.1f} %", f"{most:.1f} %", of,
             *(f"{x:.1f} %" for x in plan))
        )
    return report.table(table)


def verdict(rows):
    """Where the bar holds, in lines."""
    lines = []
    for name, runs, _, most, of, *_ in distances(rows):
        holds = "holds" if most <= BAR else "does not hold"
        lines.append(
            f"* {name}: the bar of {BAR} % {holds}; the farthest of {runs} "
            f"runs is {most:.1f} % off ({of})."
        )
    return [*lines, ""] if lines else ["No run.", ""]


def overhead(rows):
    """What the runtime takes beyond the plan, in % of it: the median of the
    strict orders; None: none ran."""
    found = [
        off(c["measured"], c["planned"])
        for r in rows
        for mode, c in r["cells"].items()
        if mode[0] == "strict"
    ]
    return statistics.median(found) if found else None


# ---- zb-h1 behind messages that are almost free ----


def short_hop_table(cells):
    """cells: {mode: cell}; the strict one is the fixed order."""
    fixed = cells["strict", "prio"]
    rows = [("order", "evaluated", "to fixed", "measured", "to fixed")]
    for mode, cell in cells.items():
        rows.append(
            (
                NAMES[mode],
                f"{cell['planned']:.3f}",
                percent(off(cell["planned"], fixed["planned"]), 2),
                f"{cell['measured']:.3f}",
                percent(off(cell["measured"], fixed["measured"]), 2),
            )
        )
    return report.table(rows)


def schedules_of(names):
    """Schedules of these names, in the order of the list; Failure."""
    for name in names:
        if not published.find(name):
            known = ", ".join(s.name for s in published.SCHEDULES)
            raise Failure(f"no published schedule '{name}': {known}")
    return [s for s in published.SCHEDULES if s.name in names or not names]
