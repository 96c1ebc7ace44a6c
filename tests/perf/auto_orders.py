"""perf/auto_orders: its settings and counts, and a plan of each policy."""

import os
import subprocess
import sys
import unittest

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "auto_orders")
script = load(SCRIPT, "auto_orders")

PAGE = """\
| p, m | F, B, W, hop | memory | bound | best published | found | stages |
| --- | --- | --- | --- | --- | --- | --- |
| 2, 4 | 1, 1, 1, 0 | 2 | 12.50 | 12.50 zb-v | 12.50 | 2, v | +0 % | 0.6 |
| 2, 4 | 1, 1.3, 0.8, 0.5, slow | 1.5 | 10 | 20 zbv.py | 19 | 1 | -5 % | 0.6 |
"""


class Settings(unittest.TestCase):
    def test_a_page_has_the_settings(self):
        equal, slow = script.settings_of(PAGE)
        self.assertEqual(
            equal, (2, 4, (1, 1, 1, 0), False, 2, 12.5, 12.5, "zb-v")
        )
        self.assertTrue(slow.slow)
        self.assertEqual(slow.times, (1, 1.3, 0.8, 0.5))

    def test_the_page_of_searches_has_all(self):
        with open(script.SETTINGS) as file:
            self.assertEqual(len(script.settings_of(file.read())), 190)

    def test_what_counts(self):
        equal, slow = script.settings_of(PAGE)
        rows = [(equal, {"prio": 12.57}), (slow, {"prio": 19.9})]
        self.assertEqual(
            script.counts(rows, "prio"),
            {
                "settings": 2,
                "above": 1,
                "worst": 100 * (12.57 / 12.5 - 1),
                "room": 1,
                "gained": 1,
            },
        )
        rows = [(equal, {"prio": 12.56}), (slow, {"prio": 19.91})]
        few = script.counts(rows, "prio")
        self.assertEqual((few["above"], few["gained"]), (0, 0))


class Plans(unittest.TestCase):
    def test_auto_takes_as_long_as_zb_v(self):
        """m (F + B + W) + (p - 1) F / 2"""
        ours = script.Ours(build)
        setting = script.settings_of(PAGE)[0]
        each = script.microbatch_bytes(ours, setting)
        try:
            found = script.evaluate(ours, setting, each)
        except script.Failure as failure:
            if "needs GLPK" in str(failure):
                self.skipTest("this build has no GLPK")
            raise
        self.assertEqual(found, {"prio": 12.5, "mtlm": 12.5, "proved": 12.5})

    def test_a_plan_without_a_bound_is_refused(self):
        text = "bound            in this memory no schedule takes less than 2 s,"
        self.assertEqual(script.schedule_table.proved_of(text), 2)
        with self.assertRaises(script.Failure):
            script.schedule_table.proved_of("")

    def test_what_the_bound_leaves_counts(self):
        rows = [(None, {"mtlm": mtlm, "proved": 1}) for mtlm in (1, 1.01, 1.02)]
        self.assertIn("1.00 % (median), by 2.00 % at most", script.gaps(rows))
        self.assertIn("or more in 1.", script.gaps(rows))

    def test_a_wrong_step_is_refused(self):
        done = subprocess.run(
            [SCRIPT, "--build", build, "--every", "0"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (1, "auto_orders: --every is 1 or more\n"),
        )


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    if result.skipped:
        print("skipped:", result.skipped[0][1])
    sys.exit(77 if result.skipped and result.wasSuccessful()
             else not result.wasSuccessful())
