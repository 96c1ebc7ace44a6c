"""The JSON beside a page of perf/schedules: rows by setting, cells by mode."""

import json

from bench import published, schedule_table
from bench.ours import Failure

# The job of a file that names none: the defaults of perf/schedules.
UNNAMED = {"ranks": 4, "microbatches": 8, "unit": 16, "quick": False}
MODES = {name: mode for mode, name in schedule_table.NAMES.items()}


def _by_name(cells):
    return {schedule_table.NAMES[mode]: cell for mode, cell in cells.items()}


def _by_mode(cells):
    return {MODES[name]: cell for name, cell in cells.items()}


def data(about, found, short, again, failures, job):
    """Of the file.  found: {title: rows}; short: cells; again: what ran later, in
    words; failures: [(schedule, sentence)]; job: of all rows, as UNNAMED."""
    settings = {
        title: [dict(row, cells=_by_name(row["cells"])) for row in rows]
        for title, rows in found.items()
    }
    return {"machine": about, "settings": settings, "short": _by_name(short),
            "again": again, "failures": failures, "job": job}


def _check(path, there, job):
    """Rows of different jobs are no table."""
    for name, value in job.items():
        if there[name] != value:
            raise Failure(f"{path} has rows of another job: {name} is "
                          f"{there[name]} there and {value} here")


def read(path, job):
    """(found, short, again, failures) as written, of that job; Failure."""
    try:
        with open(path) as file:
            stored = json.load(file)
        found = {
            title: [dict(row, cells=_by_mode(row["cells"])) for row in rows]
            for title, rows in stored["settings"].items()
        }
        _check(path, stored.get("job", UNNAMED), job)
        return (
            found,
            _by_mode(stored["short"]),
            stored.get("again", []),
            [(name, words) for name, words in stored.get("failures", [])],
        )
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


def keep(path, job, names, found, short):
    """Adds the rows of the file to those of the names, which ran: (found, short,
    again, failures); Failure.  What failed earlier stays until its row runs
    again."""
    old, old_short, again, failures = read(path, job)
    others = max(
        c["others"] for rows in found.values() for r in rows
        for c in r["cells"].values()
    )
    again = [
        *again,
        f"Rows of {', '.join(names)} ran again later; other programs took at "
        f"most {others:.2f} cores then.",
    ]
    failures = [failure for failure in failures if failure[0] not in names]
    return merge(old, found), short or old_short, again, failures
