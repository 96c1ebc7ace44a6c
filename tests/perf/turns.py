"""perf/recorder's turns, and what it makes of them."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "perf"))

from bench import figures, ours, turns  # noqa: E402


class Longer(unittest.TestCase):
    def test_interval_of_the_median_has_the_ranks_of_the_tables(self):
        # Of binomial tables, e.g. Conover, Practical Nonparametric Statistics.
        for n, low, high in (6, 1, 6), (10, 2, 9), (20, 6, 15), (32, 10, 23):
            values = list(range(n, 0, -1))
            self.assertEqual(figures.median_interval(values), (low, high))

    def test_five_values_tell_nothing(self):
        with self.assertRaises(ValueError):
            figures.median_interval([1, 2, 3, 4, 5])

    def test_rounds_are_compared_each_with_itself(self):
        # The machine gets slower; what is measured adds a tenth.
        found = figures.longer([(t, 1.1 * t) for t in range(1, 7)])
        for name in "median", "low", "high":
            self.assertAlmostEqual(found[name], 0.1)
        self.assertEqual(len(found["rounds"]), 6)

    def test_one_bad_round_does_not_count(self):
        found = figures.longer([(1, 1)] * 8 + [(1, 9)])
        self.assertEqual((found["median"], found["high"]), (0, 0))
        self.assertEqual(max(found["rounds"]), 8)


class Turns(unittest.TestCase):
    """Programs that work for some turns between two lines."""

    SCRIPT = """
print("something else\\nbegin: now", flush=True)
any(i < 0 for i in range(30000000))
{}
print("something else\\nend: now\\nmore", flush=True)
"""

    def start(self, more=""):
        words = [sys.executable, "-c", self.SCRIPT.format(more)]
        return ours.Training(words, 1)

    def runner(self, run):
        return turns.Runner(run, "begin:", "end:")

    def test_both_come_to_their_end(self):
        with self.start() as a:
            first = self.runner(a)
            with self.start() as b:
                second = self.runner(b)
                turns.race(first, second)
                found = [first.took(), second.took()]
                first.finish()
                second.finish()
        self.assertEqual((a.run.returncode, b.run.returncode), (0, 0))
        self.assertEqual(a.lines[-1], "more")
        self.assertTrue(all(seconds > 0 for seconds, _ in found))

    def test_one_that_fails_keeps_nobody_waiting(self):
        with self.start() as a:
            first = self.runner(a)
            with self.start("raise SystemExit(4)") as b:
                with self.assertRaisesRegex(ours.Failure, "ended with 4"):
                    turns.race(first, self.runner(b))
        self.assertIsNotNone(a.run.returncode)  # and nothing is left behind


if __name__ == "__main__":
    unittest.main()
