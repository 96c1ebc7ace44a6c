"""perf/recorder's turns, and what it makes of them."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "perf"))

from bench import figures, ours, turns  # noqa: E402

LINE = (
    " [2024-01-02 03:04:05] iteration        2/       9 | consumed samples:"
    "            8 | elapsed time per iteration (ms): 1234.5 |"
)


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
        rounds = [[(t, 1.1 * t), (2 * t, 2.2 * t)] for t in range(1, 7)]
        found = figures.longer(rounds)
        for name in "median", "low", "high":
            self.assertAlmostEqual(found[name], 0.1)
        self.assertEqual(len(found["rounds"]), 6)

    def test_late_end_of_an_iteration_does_not_count(self):
        found = figures.longer([[(1, 1.5), (1, 0.5)]] * 6)
        self.assertEqual((found["median"], found["high"]), (0, 0))

    def test_one_bad_round_does_not_count(self):
        found = figures.longer([[(1, 1)]] * 8 + [[(1, 9)]])
        self.assertEqual((found["median"], found["high"]), (0, 0))
        self.assertEqual(max(found["rounds"]), 8)


class Turns(unittest.TestCase):
    """Programs that take some milliseconds for each line of an iteration."""

    WORK = "any(i < 0 for i in range(100000)); print(line, flush=True)"

    def start(self, lines, code=0):
        script = (
            f"line = {LINE!r}\nfor _ in range({lines}): {self.WORK}\n"
            f"raise SystemExit({code})"
        )
        return ours.Training([sys.executable, "-c", script], 1)

    def test_both_come_to_their_end(self):
        with self.start(22) as a, self.start(22) as b:
            runners = [turns.Runner(run, 2, 20) for run in (a, b)]
            left = min(runner.left for runner in runners)
            pairs = turns.pairs(*runners, 0.001)
            for runner in runners:
                runner.end()
            self.assertEqual((a.run.returncode, b.run.returncode), (0, 0))
        self.assertEqual(len(pairs), left)
        self.assertTrue(all(x[0] > 0 for pair in pairs for x in pair))

    def test_one_that_fails_keeps_nobody_waiting(self):
        with self.start(5) as a, self.start(3, 4) as b:
            with self.assertRaisesRegex(ours.Failure, "ended with 4"):
                runners = [turns.Runner(run, 2, 3) for run in (a, b)]
                turns.pairs(*runners, 0.001)
        self.assertIsNotNone(a.run.returncode)  # and nothing is left behind


if __name__ == "__main__":
    unittest.main()
