"""perf/noise: its figures, its counts, and plans of one small job."""

import os
import subprocess
import sys
import unittest
import xml.dom.minidom

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "noise")
script = load(SCRIPT, "noise_script")
noise = script.noise

PLAN = """\
modes            strict 2 s, hint 2 s, windows 2 s; without --schedule-mode 2 s
jitter           seeds 1234 to 1253: strict 2.5 s +- 2.00 %;
                 beside it hint -0.50 +- 0.20 %, windows +3.00 +- 1.00 %{}
windows          4 3
"""
WITHOUT = ", without --schedule-mode +1.50 +- 1.00 %"


def row(schedule, *shares):
    return noise.Result(
        2, 4, (1, 1, 1, 0), "0.1", schedule, noise.Share(20, 0.5),
        {c: noise.Share(*s) for c, s in zip(noise.COLUMNS, shares)},
    )


class Figures(unittest.TestCase):
    def test_a_plan_has_the_modes(self):
        strict, beside = noise.modes_of(PLAN.format(WITHOUT))
        self.assertEqual(strict, (2.5, 0.05))
        self.assertEqual(
            beside, {"hint": (-0.5, 0.2), "emergent": (1.5, 1)}
        )

    def test_an_order_that_a_schedule_always_has(self):
        _, beside = noise.modes_of(PLAN.format(""))
        self.assertEqual(beside["emergent"], (3, 1))

    def test_a_missing_line_or_mode_is_a_failure(self):
        for text in (
            PLAN.split("jitter")[0],
            PLAN.replace("hint -0.50", "hint x"),
            PLAN.replace("strict 2.5 s", "zb-v 2.5 s"),
        ):
            with self.assertRaises(noise.Failure):
                noise.modes_of(text.format(""))

    def test_an_interval_around_zero_counts_for_nobody(self):
        rows = [
            row("a", (1, 0.5), (1, 1.5), (0, 0), (-1, 0.5)),
            row("b", (3, 2), (-1, 1.5), (0, 0), (-2, 3)),
        ]
        self.assertEqual(
            noise.count(rows, ("hint", "prio")),
            {"rows": 2, "longer": 2, "shorter": 0, "worst": 3, "best": 1,
             "mean": 2},
        )
        self.assertEqual(noise.count(rows, ("hint", "mtlm"))["longer"], 0)
        self.assertEqual(
            noise.count(rows, ("emergent", "mtlm"))["shorter"], 1
        )
        said = noise.verdicts(rows)
        self.assertTrue(
            said[0].startswith("hint, prio: longer than strict in 2 of 2")
        )
        picture = xml.dom.minidom.parseString(
            script.noise_picture.draw(rows)
        )
        # A dot for each mode of each row, and one of each in the legend.
        self.assertEqual(len(picture.getElementsByTagName("circle")), 12)


class Plans(unittest.TestCase):
    def run_script(self, *words):
        done = subprocess.run(
            [sys.executable, "-B", SCRIPT, "--build", build, *words],
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    def test_a_rank_that_takes_twice_as_long(self):
        """The draws of all seeds are equal: no interval.  1F1B, whose F, B and
        W have one order, takes as long in each mode: on rank 1, after F and a
        message, four times twice 3.1."""
        ours = script.Ours(build)
        setting = noise.Setting(2, 4, (1, 1.2, 0.9, 0.05), "0,rank=1:2", "1f1b")
        found = noise.evaluate(ours, setting)
        # F, message, 4 (F, B, W) of the slow rank, message, B and W.
        self.assertAlmostEqual(
            found.strict.mean, 1 + 0.05 + 4 * 2 * 3.1 + 0.05 + 2.1, places=3
        )
        self.assertEqual(found.strict.half, 0)
        for share in found.beside.values():
            self.assertEqual(share, (0, 0))

    def test_what_is_wrong_is_said(self):
        self.assertEqual(
            self.run_script("--job", "2")[::2],
            (1, "noise: --job is '2', it must be P,M, such as 4,16\n"),
        )
        code, _, said = self.run_script("--job", "2,4", "--noise", "-1")
        self.assertEqual(code, 1)
        self.assertIn("noise: mtlm-dag: --jitter is '-1', it must be ", said)


if __name__ == "__main__":
    unittest.main()
