"""cells.csv of a campaign: each finished cell is a line on the disk, and a
campaign that starts again continues behind the last whole line."""

import csv
import fcntl
import hashlib
import io
import json
import os

from bench.campaign_cells import Row
from bench.campaign_grid import EVALUATED, Cell, Wrong

HEAD = (*Cell._fields, "seconds", "bound_s", "reason")


def _line(row):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(
        [*row.cell, *("" if x is None else repr(x) for x in row[1:3]),
         row.reason.replace("\n", " ").replace("\r", " ")]
    )
    return text.getvalue()


def _number(text):
    return float(text) if text else None


def _policies():
    """What of the environment changes a policy: STARPU_SCHED_LIB by its
    contents, and the share that mtlm holds for."""
    library, digest = os.environ.get("STARPU_SCHED_LIB"), None
    if library:
        try:
            with open(library, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
        except OSError as error:
            raise Wrong(f"STARPU_SCHED_LIB: {library}: {error.strerror}") \
                from None
    return {"library": digest, "MTLM_HOLD": os.environ.get("MTLM_HOLD")}


def _programs(program, grid):
    """Version and contents of what evaluates."""
    runs = grid.how == "simulate" and any(
        policy not in EVALUATED for policy in grid.axes["policy"])
    simulator = [program.digest("mtlm-dag-sim")] if runs else []
    return [program.version(), program.digest(), *simulator]


class Store:
    """The rows of a directory; use as a context.  program: the Ours that
    evaluates; cells of another build or of other policies are refused."""

    def __init__(self, directory, grid, program):
        self.directory, self.grid, self.rows = directory, grid, {}
        self.path = os.path.join(directory, "cells.csv")
        self.identity = {
            "program": _programs(program, grid),
            "policies": _policies(),
            **grid.identity(),
        }
        self.file = self.known = None

    def __enter__(self):
        try:
            os.makedirs(self.directory, exist_ok=True)
            self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND,
                                0o666)
            self._lock()
            self._begin()
        except OSError as error:
            self.close()
            raise Wrong(f"{error.filename or self.path}: {error.strerror}") \
                from None
        except Wrong:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.file is not None:
            os.close(self.file)
            self.file = None

    # ---- the begin ----

    def _lock(self):
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Wrong(f"another campaign writes {self.path}") from None

    def _begin(self):
        """Reads what is there, and drops a line that a kill cut off."""
        size = os.fstat(self.file).st_size
        data = os.pread(self.file, size, 0)
        head = (",".join(HEAD) + "\n").encode()
        whole = data.rfind(b"\n") + 1
        if data == head:
            whole = 0  # without cells, the file may be of any grid
        if whole == 0 and not head.startswith(data):
            raise Wrong(f"{self.path} is of no campaign")
        self._check_grid(whole)
        if whole < len(data):
            os.ftruncate(self.file, whole)
        if whole == 0:
            self._write(head.decode())
        else:
            self._read(data[:whole])

    def _check_grid(self, whole):
        """grid.json says which grid the cells are of."""
        path = os.path.join(self.directory, "grid.json")
        if whole == 0:
            self._write_grid(path)
            return
        try:
            with open(path, encoding="utf-8") as file:
                there = json.load(file)
        except (OSError, ValueError):
            raise Wrong(f"{self.path} has no grid.json beside it that says of "
                        "which grid the cells are") from None
        for key, value in self.identity.items():
            if not isinstance(there, dict) or there.get(key) != value:
                raise Wrong(f"{self.path} has the cells of another campaign, "
                            f"with other {key}: give another --out")

    def _write_grid(self, path):
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.identity, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.rename(path + ".new", path)

    def _read(self, data):
        known = set(self.grid.cells)
        known |= {cell._replace(seed="") for cell in known}
        try:
            lines = csv.reader(io.StringIO(data.decode("utf-8"), newline=""),
                               strict=True)
            for number, words in enumerate(lines, 1):
                self._take(number, words, known)
        except (UnicodeDecodeError, csv.Error) as error:
            raise Wrong(f"{self.path}: {error}") from None

    def _take(self, number, words, known):
        if number == 1 and tuple(words) == HEAD:
            return
        try:
            cell = Cell(*words[:-3])
            row = Row(cell, _number(words[-3]), _number(words[-2]), words[-1])
        except (TypeError, ValueError, IndexError):
            row = None
        if not row or row.cell not in known or bool(row.reason) == bool(row.seconds):
            raise Wrong(f"{self.path}: line {number} is no cell of this grid")
        if row.cell in self.rows:
            raise Wrong(f"{self.path}: line {number} has a cell for the second "
                        "time")
        self.rows[row.cell] = row

    # ---- rows ----

    def _write(self, text):
        """A cut line stays where the disk is full: the next start drops it."""
        data = text.encode()
        while data:
            data = data[os.write(self.file, data):]
        os.fsync(self.file)

    def append(self, rows):
        """Writes the rows of a task; those that are there already are left
        out."""
        new = {row.cell: row for row in rows if row.cell not in self.rows}
        self._write("".join(map(_line, new.values())))
        self.rows.update(new)

    def is_done(self, cell):
        return cell in self.rows or self.is_impossible(cell)

    def is_impossible(self, cell):
        row = self.rows.get(cell._replace(seed=""))
        return row is not None and bool(row.reason)

    def missing(self):
        """Cells without a row, in the order of the grid."""
        return [cell for cell in self.grid.cells if not self.is_done(cell)]
