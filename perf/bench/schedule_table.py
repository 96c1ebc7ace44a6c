"""From what perf/schedules ran to its tables.  Times in units of F of a rank.

A cell is one job's figures: planned, measured, least, more (% of the evaluation
with the run's own messages), beyond (% outside the evaluations with drawn
messages), spread (% between iterations), memory, others.  A row has the cells of
a schedule in a setting, by mode.
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
LEAST = re.compile(r"no schedule[A-Za-z ]* takes less than ([0-9.e+-]+) s")
PROVED = re.compile(
    r"^bound +(?:in this memory no schedule[A-Za-z ]* takes less|"
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


def beyond(measured, evaluations):
    """By how many % measured is outside the range of the evaluations; 0:
    within."""
    least, most = min(evaluations), max(evaluations)
    if measured < least:
        return off(measured, least)
    return max(0, off(measured, most))


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
    """[{orders, runs; off, beyond, plan: [(|%|, schedule)] of the evaluation,
    of its range, of the plan}], of each mode and of all.  A job that stands in
    several rows counts once.  Without drawn messages, beyond is off."""
    out = []
    for name, modes in [*((NAMES[m], [m]) for m in MODES), ("all", MODES)]:
        found = {
            id(r["cells"][m]): (r["cells"][m], r["schedule"])
            for r in rows
            for m in modes
            if m in r["cells"]
        }.values()
        if found:
            out.append(
                {
                    "orders": name,
                    "runs": len(found),
                    "off": [(abs(c["more"]), s) for c, s in found],
                    "beyond": [
                        (abs(c.get("beyond", c["more"])), s) for c, s in found
                    ],
                    "plan": [
                        (abs(off(c["measured"], c["planned"])), s)
                        for c, s in found
                    ],
                }
            )
    return out


def distance_table(rows):
    table = [("orders", "runs", "median", "worst", "of", "beyond the range",
              "of", "to the plan", "worst")]
    for d in distances(rows):
        (most, of), (outside, outside_of) = max(d["off"]), max(d["beyond"])
        plan = [x for x, _ in d["plan"]]
        table.append(
            (
                d["orders"],
                str(d["runs"]),
                f"{statistics.median(x for x, _ in d['off']):.1f} %",
                *(f"{most:.1f} %", of, f"{outside:.1f} %", outside_of),
                *(f"{statistics.median(plan):.1f} %", f"{max(plan):.1f} %"),
            )
        )
    return report.table(table)


def verdict(rows):
    """Where the bar holds, in lines."""
    lines = []
    for d in distances(rows):
        (most, of), (outside, _) = max(d["off"]), max(d["beyond"])
        holds = "holds" if outside <= BAR else "does not hold"
        lines.append(
            f"* {d['orders']}: the bar of {BAR} % {holds}; of {d['runs']} runs, "
            f"the farthest is {outside:.1f} % beyond the range, and one is "
            f"{most:.1f} % off the evaluation ({of})."
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
