"""perf/policies/campaign: intervals, cells against closed formulas, campaigns
that are killed and go on, and grids that are refused."""

import csv
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

source = os.environ.get("srcdir", ".")
build = os.path.abspath(os.environ.get("builddir", "."))
SCALE = float(os.environ.get("TIME_SCALE", "3"))
SCRIPT = os.path.join(source, "perf", "policies", "campaign")
sys.path.insert(0, os.path.join(source, "perf"))
sys.dont_write_bytecode = True

from bench import campaign_cells, campaign_grid, dots, intervals  # noqa: E402

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
# A program that passes its calls on, and hangs from the given call on.
HANGS = """\
#!/bin/sh
[ "$1" = --version ] || { echo x >>"$0.calls"
[ $(wc -l <"$0.calls") -lt %d ] || exec sleep 1000; }
exec %s/mtlm-dag "$@"
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


class Intervals(unittest.TestCase):
    def test_quantiles_with_closed_formulas(self):
        # Of one and two degrees of freedom; the others: tables.
        self.assertAlmostEqual(
            intervals.student(1), math.tan(0.95 * math.pi / 2), places=9
        )
        self.assertAlmostEqual(
            intervals.student(2), 0.95 * math.sqrt(2 / (1 - 0.95**2)), places=9
        )
        for freedom, want in ((3, 3.182446), (4, 2.776445), (9, 2.262157),
                              (19, 2.093024), (30, 2.042272)):
            self.assertAlmostEqual(intervals.student(freedom), want, places=6)

    def test_means_and_halves(self):
        self.assertEqual(intervals.interval([5]), (5, math.inf))
        self.assertEqual(intervals.interval([2, 2, 2]), (2, 0))
        self.assertEqual(
            intervals.count([intervals.Share(2**-30, 0), intervals.Share(1, 2),
                             intervals.Share(-2, 1), intervals.Share(1, 0)]),
            {"rows": 4, "longer": 1, "shorter": 1, "worst": 1, "best": -2,
             "mean": 2**-32},
        )
        mean, half = intervals.interval([1, 4])
        self.assertEqual(mean, 2.5)
        self.assertAlmostEqual(half, 1.5 * math.tan(0.95 * math.pi / 2))


class Grids(unittest.TestCase):
    def test_cells_and_their_calls(self):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "grid.ini")
            with open(path, "w") as file:
                file.write(GRID.replace("1..3", "40 1..21 22"))
            grid = campaign_grid.read(path)
        # Without noise a configuration has one cell.
        self.assertEqual(len(grid.cells), 3 * 3 * 2 * (1 + 2 * 23))
        self.assertEqual({c.m for c in grid.cells}, {"4"})
        tasks = campaign_cells.tasks_of("evaluate", grid.cells)
        # Seeds 1 to 20, and 21 to 40, of each schedule, policy and noise.
        self.assertEqual(len(tasks), 3 * 2 * (1 + 2 * 2))
        self.assertEqual(
            sorted(c for t in tasks for c in t.cells), sorted(grid.cells)
        )
        for task in tasks:
            seeds = [int(c.seed or 0) for c in task.cells]
            self.assertLess(max(seeds) - seeds[0], 20)
            self.assertEqual(min(seeds), seeds[0])


class Campaigns(Folder):
    def one(self, **keys):
        """The configuration of summary.csv with these values."""
        found = [r for r in rows_of(self.path("summary.csv"))
                 if all(r[k] == v for k, v in keys.items())]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_cells_against_closed_formulas(self):
        code, said = campaign(self.grid(), self.out)
        self.assertEqual(code, 0, said)
        rows = rows_of(self.path("cells.csv"))
        keys = [tuple(r.values())[:10] for r in rows]
        self.assertEqual(len(set(keys)), len(keys))
        self.check_formulas()
        self.check_pairs(rows)
        self.check_impossible(rows)
        self.check_page()

    def check_formulas(self):
        for mode in ("strict", "hint", "emergent"):
            # On rank 1 after F and a message: four of F, B and W, and a wait
            # for two messages behind the second one; a message, B and W.
            plain = self.one(schedule="1f1b", mode=mode, policy="prio",
                             jitter="0")
            self.assertAlmostEqual(
                float(plain["mean_s"]), 1.05 + 4 * 3.1 + 0.1 + 0.05 + 2.1, 6
            )
            self.assertEqual((plain["seeds"], plain["half_s"]), ("1", ""))
            # Rank 1 takes twice as long, in every seed.
            slow = self.one(schedule="1f1b", mode=mode, policy="mtlm",
                            jitter="0,rank=1:2")
            self.assertAlmostEqual(
                float(slow["mean_s"]), 1 + 0.05 + 4 * 2 * 3.1 + 0.05 + 2.1, 6
            )
            self.assertEqual((slow["seeds"], float(slow["half_s"])), ("3", 0))

    def check_pairs(self, rows):
        """By hand, with t of two degrees of freedom from a table."""
        def seconds(mode):
            return {r["seed"]: float(r["seconds"]) for r in rows
                    if (r["schedule"], r["mode"], r["policy"], r["jitter"])
                    == ("zb-v", mode, "prio", "0.3")}

        strict, hint = seconds("strict"), seconds("hint")
        self.assertEqual(set(strict), {"1", "2", "3"})
        off = [100 * (hint[s] - strict[s]) / strict[s] for s in strict]
        found = self.one(schedule="zb-v", mode="hint", policy="prio",
                         jitter="0.3")
        self.assertAlmostEqual(
            float(found["beside_strict_percent"]), sum(off) / 3, places=6
        )
        self.assertAlmostEqual(
            float(found["beside_half_percent"]),
            4.302653 * statistics.stdev(off) / math.sqrt(3), places=4,
        )
        self.assertEqual(
            self.one(schedule="zb-v", mode="strict", policy="prio",
                     jitter="0.3")["beside_strict_percent"], ""
        )

    def check_impossible(self, rows):
        """Under prio, window has no order; each mode is counted once for each
        noise."""
        why = [r for r in rows if r["reason"]]
        self.assertEqual(
            {(r["schedule"], r["mode"], r["policy"]) for r in why},
            {("window", "strict", "prio"), ("window", "hint", "prio")},
        )
        self.assertEqual(len(why), 2 * 3)
        self.assertEqual({r["seed"] + r["seconds"] for r in why}, {""})

    def check_page(self):
        with open(self.path("page.md")) as file:
            text = file.read()
        # Of a configuration: a cell without noise, and 2 x 3 with it.
        self.assertIn(f"* {3 * 3 * 2 * 7} cells, {2 * 7} impossible;", text)
        self.assertIn("| zb-v     |", text)
        self.assertIn("* 7 cells: window has no mode strict here", text)
        for name in ("modes.svg", "schedules.svg"):
            self.assertIn(f"]({name})", text)
            xml.dom.minidom.parse(self.path(name))

    def test_a_seed_has_the_noise_of_the_program(self):
        """A plan's line has the mean of the cells of its twenty seeds."""
        grid = self.grid(GRID.replace("1..3", "5..24")
                         .replace("1f1b zb-v window", "zb-h1"))
        self.assertEqual(campaign(grid, self.out)[0], 0)
        cluster = os.path.join(self.work, "cluster.ini")
        campaign_cells.sleeping.describe(cluster, (1000, 1200, 900), 50)
        said = subprocess.run(
            [os.path.join(build, "mtlm-dag"), "--dry-run",
             *campaign_cells.sleeping.options(16, 4, 2), "--schedule", "zb-h1",
             "--schedule-mode", "strict", "--synthetic", cluster,
             "--jitter", "0.3", "--seed", "5"],
            capture_output=True, text=True, check=True,
            env=dict(os.environ, STARPU_SCHED="mtlm"),
        ).stdout
        line = said.split("seeds 5 to 24: strict ")[1].split()
        found = self.one(mode="strict", policy="mtlm", jitter="0.3")
        self.assertAlmostEqual(float(found["mean_s"]), float(line[0]), 3)
        half = 100 * float(found["half_s"]) / float(found["mean_s"])
        self.assertAlmostEqual(half, float(line[3]), delta=0.006)

    def test_memory_in_microbatches(self):
        """Half of 1F1B's memory is too little for its order, not for v-half."""
        code, said = campaign(self.grid(
            GRID.replace("1f1b zb-v window", "1f1b v-half")
            .replace("= 2\n", "= 4\n").replace("0 0.3 0,rank=1:2", "0")
            .replace("seed", "memory = 0.8p\nseed")), self.out)
        self.assertEqual(code, 0, said)
        rows = rows_of(self.path("cells.csv"))
        self.assertEqual({r["schedule"] for r in rows if r["seconds"]}, {"v-half"})
        self.assertIn("rank has", " ".join(r["reason"] for r in rows))

    def test_virtual_time(self):
        code, said = campaign(self.grid(
            GRID.replace("A test", "A test\nhow = simulate")
            .replace("1f1b zb-v window", "1f1b")
            .replace("0 0.3 0,rank=1:2", "0").replace("0.05\n", "0\n")),
            self.out)
        self.assertEqual(code, 0, said)
        for row in rows_of(self.path("cells.csv")):
            self.assertAlmostEqual(float(row["seconds"]), 5 * 3.1, 5)
            self.assertAlmostEqual(float(row["bound_s"]), 4 * 3.1, 5)

    def test_runs(self):
        """Tasks sleep at least as long as they are to."""
        code, said = campaign(self.grid(
            GRID.replace("A test", "A test\nhow = run\nstretch = 0.01\nlayers = 2")
            .replace("1f1b zb-v window", "1f1b").replace("prio mtlm", "prio")
            .replace("hint emergent", "emergent")
            .replace("0 0.3 0,rank=1:2", "0").replace("1..3", "1")), self.out)
        self.assertEqual(code, 0, said)
        rows = rows_of(self.path("cells.csv"))
        self.assertEqual([r["mode"] for r in rows], ["strict", "emergent"])
        for row in rows:
            self.assertGreater(float(row["seconds"]), 0.04 * 3.1)
            self.assertGreater(float(row["bound_s"]), 0.9 * 0.04 * 3.1)


class Interrupted(Folder):
    def whole(self):
        """The lines of a campaign that nothing interrupts."""
        out, self.out = self.out, os.path.join(self.work, "whole")
        self.assertEqual(campaign(self.grid(), self.out)[0], 0)
        lines, self.out = self.lines(), out
        return lines

    def start(self, calls):
        """A campaign whose program hangs from a call on, once it hangs."""
        fake = os.path.join(self.work, "build")
        os.makedirs(fake, exist_ok=True)
        program = os.path.join(fake, "mtlm-dag")
        with open(program, "w") as file:
            file.write(HANGS % (calls, build))
        os.chmod(program, 0o755)
        run = subprocess.Popen(
            [sys.executable, "-B", SCRIPT, self.grid(), "--out", self.out,
             "--build", fake],
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )
        end = time.monotonic() + 60 * SCALE
        while not os.path.exists(program + ".calls") or \
                os.path.getsize(program + ".calls") < 2 * calls:
            self.assertIsNone(run.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return run

    def test_a_killed_campaign_goes_on(self):
        want = self.whole()
        run = self.start(4)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        there = self.lines()
        self.assertTrue(2 < len(there) < len(want))
        code, said = campaign(self.grid(), self.out, "--jobs", "2")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.lines()[:len(there)], there)
        self.assertEqual(sorted(self.lines()), sorted(want))

    def test_a_signal_leaves_whole_lines(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            run = self.start(3)
            os.kill(run.pid, number)
            said = run.communicate()[1]
            self.assertEqual(run.returncode, code)
            self.assertTrue(said.endswith("interrupted; the same command goes "
                                          "on\n"), said)
            with open(self.path("cells.csv")) as file:
                self.assertTrue(file.read().endswith("\n"))
            os.remove(os.path.join(self.work, "build", "mtlm-dag.calls"))

    def test_a_line_cut_off_is_written_again(self):
        want = self.whole()
        data = "\n".join(want) + "\n"
        os.makedirs(self.out)
        os.link(os.path.join(self.work, "whole", "grid.json"),
                self.path("grid.json"))
        head = len(want[0])
        for cut in (0, 3, head, head + 1, head + 20, len(data) // 2,
                    len(data) - 1):
            with open(self.path("cells.csv"), "w") as file:
                file.write(data[:cut])
            code, said = campaign(self.grid(), self.out)
            self.assertEqual(code, 0, said)
            self.assertEqual(sorted(self.lines()), sorted(want))
        # All is there: nothing is evaluated.
        before = self.lines()
        self.assertEqual(campaign(self.grid(), self.out)[0], 0)
        self.assertEqual(self.lines(), before)

    def test_a_failed_call_is_tried_again(self):
        fake = os.path.join(self.work, "build")
        os.makedirs(fake)
        with open(os.path.join(fake, "mtlm-dag"), "w") as file:
            file.write(f"#!/bin/sh\n[ \"$1\" = --version ] && exec {build}/mtlm-dag "
                       "--version\necho 'mtlm-dag: no luck' >&2; exit 4\n")
        os.chmod(os.path.join(fake, "mtlm-dag"), 0o755)
        code, said = campaign(self.grid(), self.out, "--build", fake)
        self.assertEqual(code, 1)
        self.assertIn("no luck", said)
        self.assertIn("the same command tries them again", said)
        self.assertEqual(len(self.lines()), 1)
        self.assertEqual(campaign(self.grid(), self.out)[0], 0)


class Refused(Folder):
    def refused(self, text, want):
        """In one sentence, the last line."""
        code, said = campaign(self.grid(text), self.out)
        lines = [x for x in said.splitlines() if not x.endswith(" cells")]
        self.assertEqual(len(lines), 1, said)
        self.assertIn(want, said)
        self.assertEqual(code, 2)

    def test_grids(self):
        for old, new, want in (
            ("mode =", "moods =", "unknown axis 'moods'"),
            ("title", "titel", "unknown key 'titel'"),
            ("[times]", "[time]", "unknown section [time]"),
            ("zb-v", "zb-w", "schedule is 'zb-w', it must be "),
            ("hint", "hunt", "mode is 'hunt', it must be strict, hint"),
            ("mtlm", "lws", "how = evaluate knows prio and mtlm"),
            ("p = 2", "p = two", "p is 'two', it must be ranks"),
            ("m = 2p", "m = 0p", "m is '0p', it must be microbatches"),
            ("m = 2p", "m =", "axis 'm' has no value"),
            ("m = 2p\n", "", "[axes] lacks m"),
            ("1..3", "3..1", "seed '3..1' is no number and no range"),
            ("1..3", "1..9999999", "5000000"),
            ("1f1b", "zb-v", "schedule has 'zb-v' twice"),
            ("plain\n", "fancy\n", "times 'fancy' have no line in [times]"),
            ("plain\n", "no/such.ini\n", "No such file"),
            ("1 1.2 0.9 0.05", "1 1.2 0.9", "seconds of F, B, W and a message"),
            ("1 1.2 0.9 0.05", "1 1.2 -0.9 0", "seconds of F, B, W and a message"),
            ("A test", "A test\nhow = guess", "how is 'guess'"),
            ("A test", "A test\nlayers = 0", "layers is '0'"),
            ("title = A test", "title", "grid.ini"),
            ("1f1b zb-v window", "window", "no cell of the grid is possible; "),
        ):
            with self.subTest(new):
                self.assertIn(old, GRID)
                text = GRID.replace(old, new, 1)
                if "possible" in want:
                    text = text.replace("hint emergent", "hint")
                    text = text.replace("prio mtlm", "prio")
                self.refused(text, want)

    def test_files_and_directories(self):
        code, said = campaign(os.path.join(self.work, "none.ini"), self.out)
        self.assertEqual((code, said.count("\n")), (2, 1))
        self.assertIn("none.ini: No such file or directory", said)
        code, said = campaign(self.grid(), "/proc/campaign")
        self.assertEqual((code, said.count("\n")), (2, 1))
        self.assertIn("/proc/campaign: No such file or directory", said)
        with open(self.out, "w") as file:
            file.write("no directory")
        self.refused(GRID, "File exists")

    def test_cells_of_another_grid(self):
        os.makedirs(self.out)
        with open(self.path("cells.csv"), "w") as file:
            file.write("schedule,seconds\n1f1b,3\n")
        self.refused(GRID, "has no grid.json beside it")
        os.remove(self.path("cells.csv"))
        small = GRID.replace("0 0.3 0,rank=1:2", "0")
        self.assertEqual(campaign(self.grid(small), self.out)[0], 0)
        self.refused(GRID, "has the cells of another grid, with other axes")
        self.refused(small.replace("1.2", "1.3"), "with other times")
        with open(self.path("cells.csv"), "a") as file:
            file.write(self.lines()[1] + "\n")
        self.refused(small, "has a cell for the second time")


class Pictures(unittest.TestCase):
    def test_a_dot_for_each_value(self):
        share = intervals.Share(1, 0.5)
        groups = [("a", [("x", [share, None]), ("y", [share, share])])]
        picture = xml.dom.minidom.parseString(
            dots.draw("title", "label", ["one", "two"], groups)
        )
        # Three values, and two columns in the legend.
        self.assertEqual(len(picture.getElementsByTagName("circle")), 5)


if __name__ == "__main__":
    unittest.main()
