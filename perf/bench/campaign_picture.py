"""Pictures of a campaign: modes beside strict, and schedules beside the bound."""

from bench import dots, intervals
from bench.campaign_page import setting_of

ROWS = 300  # of a picture


def _shape(cell):
    words = [f"p {cell.p}", f"m {cell.m}", f"times {cell.times}"]
    words += [f"v {cell.v}"] if cell.v not in ("", "own") else []
    words += [f"memory {cell.memory}"] if cell.memory != "own" else []
    return ", ".join(words)


def _columns(found):
    keys = dict.fromkeys((f.cell.mode, f.cell.policy) for f in found)
    return list(keys)


def _grouped(found, columns, group_of, row_of, value):
    """[(group, [(row, [Share or None])])]"""
    groups = {}
    for f in found:
        rows = groups.setdefault(group_of(f.cell), {})
        row = rows.setdefault(row_of(f.cell), [None] * len(columns))
        row[columns.index((f.cell.mode, f.cell.policy))] = value(f)
    return [(name, list(rows.items())) for name, rows in groups.items()]


def _cut(groups):
    """Groups of at most ROWS rows together."""
    parts, size = [[]], 0
    for group in groups:
        if size and size + len(group[1]) > ROWS:
            parts.append([])
            size = 0
        parts[-1].append(group)
        size += len(group[1])
    return parts


def _draw(name, title, label, columns, groups):
    """[(name of the file, title, SVG)]"""
    parts, names = _cut(groups), [", ".join(c) for c in columns]
    return [
        (f"{name}{f'-{i}' if len(parts) > 1 else ''}.svg", title,
         dots.draw(title, label, names, part))
        for i, part in enumerate(parts, 1)
    ]


def _least(some):
    """{setting: the least bound of its schedules}, as a fused schedule or fewer
    virtual stages have a larger one."""
    found = {}
    for f in some:
        key = setting_of(f.cell)
        found[key] = min(f.bound, found.get(key, f.bound))
    return found


def modes(found):
    """Each mode beside strict."""
    some = [f for f in found if f.beside]
    if not some:
        return []
    columns = _columns(some)
    groups = _grouped(
        some, columns, lambda c: f"{c.schedule}, {_shape(c)}",
        lambda c: c.jitter, lambda f: f.beside,
    )
    return _draw("modes", "Modes beside strict, under the same noise",
                 "per cent longer than strict", columns, groups)


def schedules(found):
    """All schedules of a setting beside the least bound, settings one after the
    other, each in the order of the grid."""
    some = [f for f in found if f.bound]
    least = _least(some)
    if not some:
        return []
    places = {setting: place for place, setting in enumerate(least)}
    some.sort(key=lambda f: places[setting_of(f.cell)])
    columns = _columns(some)

    def above(f):
        bound = least[setting_of(f.cell)]
        return intervals.Share(100 * (f.time.mean / bound - 1),
                               100 * f.time.half / bound)

    groups = _grouped(
        some, columns, lambda c: f"{_shape(setting_of(c))}, noise {c.jitter}",
        lambda c: c.schedule + ("" if c.v == "own" else f", v {c.v}"), above,
    )
    return _draw("schedules", "Schedules above the least bound of the setting",
                 "per cent longer than the bound", columns, groups)
