"""perf/policies/campaign: intervals, and cells against closed formulas."""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "perf"))

from bench import campaign_cells, campaign_grid, dots, intervals  # noqa: E402
from campaign_folder import GRID, Folder, build, campaign, rows_of  # noqa: E402


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
    def grid(self, text):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "grid.ini")
            with open(path, "w") as file:
                file.write(text)
            return campaign_grid.read(path)

    def test_cells_and_their_calls(self):
        grid = self.grid(GRID.replace("1..3", "40 1..21 22"))
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

    def test_a_model_takes_the_place_of_the_small_one(self):
        """Two ranks with 2p microbatches of three samples."""
        for model in "--model gpt2-345m", "--model=gpt2-345m":
            grid = self.grid(GRID.replace(
                "A test", f"A test\noptions = {model} --micro-batch-size 3"))
            words = campaign_cells.Calls(None, grid)._job(grid.cells[0])
            self.assertNotIn("--num-layers", words)
            at = words.index("--global-batch-size")
            self.assertEqual(words[at + 1], "12")

    def test_contents_of_files_among_the_options_count(self):
        with tempfile.TemporaryDirectory() as work:
            for name, option in (("job.ini", "--config={0}/job.ini"),
                                 ("summary.json", "--durations {0}")):
                text = GRID.replace(
                    "A test", "A test\noptions = " + option.format(work))
                found = [self.grid(text).identity()["options"]]
                for content in "1", "2", "1":
                    with open(os.path.join(work, name), "w") as file:
                        file.write(content)
                    found.append(self.grid(text).identity()["options"])
                self.assertEqual(found[1], found[3])
                self.assertNotEqual(found[1], found[2])
                self.assertNotEqual(found[0], found[1])

    def test_a_policy_is_tried_as_long_as_runs_stretch(self):
        grid = self.grid(GRID.replace("prio mtlm", "prio lws").replace(
            "A test", "A test\nhow = run\nstretch = 0.01"))
        calls = campaign_cells.Calls(mock.Mock(), grid)
        with mock.patch.object(calls, "_output") as output:
            calls.check()
        tried, = (call.args[0] for call in output.call_args_list
                  if "--synthetic" in call.args[0])
        self.assertEqual(tried[tried.index("--stretch") + 1], "0.01")


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

    def test_a_schedule_that_no_table_has(self):
        """The program knows it: here as 1f1b."""
        program = os.path.join(self.work, "mtlm-dag")
        with open(program, "w") as file:
            file.write("#!/bin/sh\nfor word do\n    shift\n    case $word in\n"
                       "        mine | --schedule=mine) word=${word%mine}1f1b ;;\n"
                       '    esac\n    set -- "$@" "$word"\ndone\n'
                       f'exec {build}/mtlm-dag "$@"\n')
        os.chmod(program, 0o755)
        text = GRID.replace("1f1b zb-v window", "1f1b mine")
        code, said = campaign(self.grid(text), self.out, "--build", self.work)
        self.assertEqual(code, 0, said)
        for mode in ("strict", "hint", "emergent"):
            self.assertEqual(
                self.one(schedule="mine", mode=mode, policy="prio",
                         jitter="0")["mean_s"],
                self.one(schedule="1f1b", mode=mode, policy="prio",
                         jitter="0")["mean_s"],
            )

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
            .replace("0.3 ", "").replace("0.05\n", "0\n")), self.out)
        self.assertEqual(code, 0, said)
        # Rank 1 as planned, or twice as slow: F before, B and W behind.
        want = {"0": (5 * 3.1, 4 * 3.1), "0,rank=1:2": (9 * 3.1, 8 * 3.1)}
        rows = rows_of(self.path("cells.csv"))
        self.assertEqual(len(rows), 3 * 2 * (1 + 3))
        for row in rows:
            seconds, bound = want[row["jitter"]]
            self.assertAlmostEqual(float(row["seconds"]), seconds, 5)
            self.assertAlmostEqual(float(row["bound_s"]), bound, 5)

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
