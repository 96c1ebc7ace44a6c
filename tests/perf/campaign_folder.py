"""What the tests of perf/policies/campaign share: a small grid, and a folder for
its cells."""

import csv
import os
import subprocess
import sys
import tempfile
import unittest

source = os.environ.get("srcdir", ".")
build = os.path.abspath(os.environ.get("builddir", "."))
SCRIPT = os.path.join(source, "perf", "policies", "campaign")

# F, B, W and a message.
GRID = """\
[campaign]
title = A test
[axes]
schedule = 1f1b zb-v window
mode = strict hint emergent
policy = prio mtlm
p = 2
m = 2p
times = plain
jitter = 0 0.3 0,rank=1:2
seed = 1..3
[times]
plain = 1 1.2 0.9 0.05
"""


def campaign(grid, out, *words):
    """(exit status, standard error) of a campaign."""
    done = subprocess.run(
        [sys.executable, "-B", SCRIPT, grid, "--out", out, "--build", build,
         *words],
        capture_output=True, text=True,
    )
    return done.returncode, done.stderr


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.work = holder.name
        self.out = os.path.join(self.work, "out")

    def grid(self, text=GRID):
        path = os.path.join(self.work, "grid.ini")
        with open(path, "w") as file:
            file.write(text)
        return path

    def path(self, name):
        return os.path.join(self.out, name)

    def lines(self):
        with open(self.path("cells.csv")) as file:
            return file.read().splitlines()
