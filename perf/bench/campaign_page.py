"""What a campaign found: means and intervals over seeds, tables and the page."""

import collections
import csv
import io
import math

from bench import intervals, report

# A configuration: a Cell without seed.  time: Share of seconds; beside: Share of
# per cent that the mode takes longer than strict, or None; bound: seconds.
Found = collections.namedtuple("Found", "cell seeds time beside bound")
HEAD = ("seeds", "mean_s", "half_s", "beside_strict_percent",
        "beside_half_percent", "bound_s")


def _seconds(store):
    """{configuration: {seed: Row}}, in the order of the grid."""
    found = {}
    for cell in store.grid.cells:
        row = store.rows.get(cell)
        if row and not row.reason:
            found.setdefault(cell._replace(seed=""), {})[cell.seed] = row
    return found


def _beside(mine, strict):
    """Per cent longer than strict under the same seeds."""
    both = [seed for seed in mine if seed in strict]
    if not both:
        return None
    return intervals.interval(
        [100 * (mine[s].seconds / strict[s].seconds - 1) for s in both]
    )


def summary(store):
    """[Found] of all configurations."""
    seconds, found = _seconds(store), []
    for cell, rows in seconds.items():
        strict = seconds.get(cell._replace(mode="strict"), {})
        bounds = [r.bound for r in rows.values() if r.bound]
        found.append(
            Found(
                cell, len(rows),
                intervals.interval([r.seconds for r in rows.values()]),
                _beside(rows, strict) if cell.mode != "strict" else None,
                sum(bounds) / len(bounds) if bounds else None,
            )
        )
    return found


def _cell(value):
    return "" if value is None or math.isinf(value) else f"{value:.9g}"


def summary_csv(found):
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*(n for n in found[0].cell._fields if n != "seed"), *HEAD])
    for f in found:
        beside = f.beside or (None, None)
        out.writerow([*f.cell[:-1], f.seeds,
                      *map(_cell, (*f.time, *beside, f.bound))])
    return text.getvalue()


# ---- the page ----


def _compared(found):
    """{(schedule, mode, policy): [Share]} of what has an interval."""
    groups = {}
    for f in found:
        if f.beside and not math.isinf(f.beside.half):
            key = f.cell.schedule, f.cell.mode, f.cell.policy
            groups.setdefault(key, []).append(f.beside)
    return groups


def _beside_table(groups):
    rows = [("schedule", "mode, policy", "settings", "longer", "by at most",
             "shorter", "by at most", "on average")]
    for (schedule, mode, policy), shares in groups.items():
        c = intervals.count(shares)
        rows.append(
            (
                schedule, f"{mode}, {policy}", str(c["rows"]),
                str(c["longer"]), f"{c['worst']:+.2f} %", str(c["shorter"]),
                f"{c['best']:+.2f} %", f"{c['mean']:+.2f} %",
            )
        )
    return report.table(rows)


def setting_of(cell):
    """What a schedule does not change."""
    return cell._replace(schedule="", mode="", policy="", v="", seed="")


def _best_table(found):
    """How often a combination is the fastest of its setting."""
    best = {}
    for f in found:
        key = setting_of(f.cell)
        if key not in best or f.time.mean < best[key].time.mean:
            best[key] = f
    wins = collections.Counter(
        (f.cell.schedule, f.cell.mode, f.cell.policy) for f in best.values()
    )
    rows = [("fastest", "settings")]
    rows += [(", ".join(key), str(n)) for key, n in wins.most_common()]
    return report.table(rows)


def _reasons(store):
    """[(sentence, cells)], most cells first; numbers of a cell are left out."""
    found = collections.Counter()
    for cell in store.grid.cells:
        row = store.rows.get(cell._replace(seed=""))
        if row and row.reason:
            found[row.reason] += 1
    return found.most_common()


WAYS = {
    "evaluate": "Plans of `mtlm-dag --dry-run --modes-out`; nothing ran.",
    "simulate": "Iterations of `mtlm-dag --simulate`, in virtual time.",
    "run": "Runs of `mtlm-dag --synthetic`: the real runtime, and tasks that "
           "sleep. A time is the mean of the traced iterations of a run.",
}
ABOUT = """\
A mean over seeds has an interval of 95 % (Student's t). `beside strict`: how much
longer (+) or shorter (-) than the schedule's own order, strictly followed, a mode
takes. These differences are paired: both have the same noise of the same seed.
`longer` and `shorter` count settings whose interval lies above or below 0. With
many settings, one in twenty does so by chance. Orders of `auto` are its own."""
REASONS = 12


def page(store, found, command, pictures):
    grid, groups = store.grid, _compared(found)
    skipped = sum(store.is_impossible(cell) for cell in grid.cells)
    lines = [f"# {grid.title}", "", f"    {command}", ""]
    lines += [grid.about, ""] if grid.about else []
    lines += [f"{WAYS[grid.how]} {store.identity['program'][0]}.", "", ABOUT, ""]
    lines += [f"* {name}: {' '.join(words)}" for name, words in grid.axes.items()]
    lines += [f"* times {name}: F, B, W, a message take "
              f"{', '.join(f'{x:g}' for x in t.values)} s"
              for name, t in grid.times.items() if t.values]
    lines += [f"* {len(grid.cells)} cells, {skipped} impossible; "
              f"{len(found)} configurations in `summary.csv`", ""]
    if groups:
        lines += ["## Beside strict", "", _beside_table(groups), ""]
    lines += ["## Fastest", "", _best_table(found), ""]
    lines += [f"![{what}]({name})" for name, what in pictures]
    reasons = _reasons(store)
    if reasons:
        lines += ["", "## Impossible", "",
                  *(f"* {n} cells: {why}" for why, n in reasons[:REASONS])]
    if len(reasons) > REASONS:
        rest = sum(n for _, n in reasons[REASONS:])
        lines += [f"* {rest} cells: {len(reasons) - REASONS} other reasons, in "
                  "`cells.csv`"]
    return "\n".join([*lines, ""])
