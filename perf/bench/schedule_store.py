"""The JSON beside a page of perf/schedules: rows by setting, cells by mode."""

import json

from bench import published, schedule_table
from bench.ours import Failure

MODES = {name: mode for mode, name in schedule_table.NAMES.items()}


def _by_name(cells):
    return {schedule_table.NAMES[mode]: cell for mode, cell in cells.items()}


def _by_mode(cells):
    return {MODES[name]: cell for name, cell in cells.items()}


def data(about, found, short, again):
    """Of the file.  found: {title: rows}; short: cells; again: what ran later, in words."""
    settings = {
        title: [dict(row, cells=_by_name(row["cells"])) for row in rows]
        for title, rows in found.items()
    }
    return {"machine": about, "settings": settings, "short": _by_name(short),
            "again": again}


def read(path):
    """(found, short, again) as written; Failure."""
    try:
        with open(path) as file:
            stored = json.load(file)
        found = {
            title: [dict(row, cells=_by_mode(row["cells"])) for row in rows]
            for title, rows in stored["settings"].items()
        }
        return found, _by_mode(stored["short"]), stored.get("again", [])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path} has no rows to keep: {error}")


def merge(old, new):
    """Rows of new in the place of those of old; {title: rows} of all."""
    names = [s.name for s in published.SCHEDULES]
    found = {}
    for title in [*old, *(t for t in new if t not in old)]:
        rows = {row["schedule"]: row for row in old.get(title, ())}
        rows.update({row["schedule"]: row for row in new.get(title, ())})
        found[title] = sorted(
            rows.values(), key=lambda row: names.index(row["schedule"])
        )
    return found
