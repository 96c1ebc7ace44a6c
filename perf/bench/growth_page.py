"""The page and the picture of perf/growth."""

from bench import curves, growth, report

HEAD = ("size", "nodes", "ranks", "ms", "ms / expected", "us a node",
        "CPU us a node", "MiB", "planned MiB", "start s", "others' cores")
COLUMNS = 3  # panels of a row of the picture

ABOUT = """\
Time: the mean of some iterations after a warm-up, the least of the rounds. An
iteration's own time says less: the next one is submitted before it ends. us a
node: this time by the nodes of the busiest rank. CPU us: of all ranks, by all
nodes. All nodes: the busiest rank's nodes times the ranks, which is more than the
sum where ranks differ. MiB: the peak that the fullest rank prints, beside its
plan. Start: from the start to the end of the first iteration. ms / expected: the
time by what it is to be proportional to, 1 at the least size.

An exponent is the slope of the least-squares line of log time, or log memory,
against log size. Last: of the three largest sizes. Time is to grow as the model
FLOPs, vocabulary and attention included. Where the runtime is measured, time is
to grow as all nodes by the cores that the ranks share. Memory is to grow as the
plan. FASTER: an exponent is more than {slack} above the expected one."""


def table(axis, rows, cores):
    expected = [growth.work(axis, row, cores) for row in rows]
    lines = [HEAD]
    for row, work in zip(rows, expected):
        ratio = row["ms"] / rows[0]["ms"] * expected[0] / work
        lines.append((
            str(row["size"]), f"{row['nodes']:.0f}", str(row["ranks"]),
            f"{row['ms']:.1f}", f"{ratio:.2f}",
            f"{1e3 * row['ms'] / row['nodes']:.2f}",
            f"{1e3 * row['cpu_ms'] / row['nodes'] / row['ranks']:.2f}",
            f"{row['mib']:.1f}", f"{row['planned_mib']:.1f}",
            f"{row['start']:.1f}", f"{row['others']:.2f}",
        ))
    return report.table(lines)


def summary(axes, results, cores):
    lines = [("axis", "of", "exponent", "expected", "last", "expected",
              "at large sizes", "")]
    for axis in axes:
        found = growth.exponents(axis, results[axis.name], cores)
        for kind in ("time", "memory") if found else ():
            x = found[kind]
            lines.append((
                axis.name, kind, f"{x['all']:.2f}", f"{x['expected']:.2f}",
                f"{x['last']:.2f}", f"{x['expected_last']:.2f}",
                getattr(axis, kind), "FASTER" if x["off"] else "",
            ))
    return report.table(lines)


def page(about, version, command, axes, results, picture_name):
    cores = about["cores"]
    worst = max(row["others"] for rows in results.values() for row in rows)
    lines = [
        "# How cost grows", "", f"    {command}", "",
        f"* Machine: {report.machine_line(about)}; "
        f"{report.neighbours(worst)}.",
        f"* {version}.", "",
        ABOUT.format(slack=growth.SLACK), "",
        summary(axes, results, cores), "",
        f"![doublings]({picture_name})", "",
    ]
    for axis in axes:
        lines += [f"## {axis.name}", "", axis.about, "",
                  table(axis, results[axis.name], cores), ""]
    return "\n".join(lines)


def _panel(axis, rows, cores):
    sizes = [row["size"] for row in rows]
    return {
        "time": growth.doublings(sizes, [row["ms"] for row in rows]),
        "memory": growth.doublings(sizes, [row["mib"] for row in rows]),
        "expected time": growth.doublings(
            sizes, [growth.work(axis, row, cores) for row in rows]),
    }


def picture(axes, results, cores):
    """Both axes of each panel count doublings since the least size."""
    axes = [a for a in axes if len(results[a.name]) >= growth.LEAST]
    panels = [(a.name, _panel(a, results[a.name], cores)) for a in axes]
    rows = []
    for i in range(0, len(panels), COLUMNS):
        part = panels[i:i + COLUMNS]
        most = max(y for _, p in part for c in p.values() for _, y in c)
        rows.append(((0, max(1, most)), {}, part))
    return curves.draw("Doublings of time and memory since the least size",
                       "doublings of the size", rows, 1)
