"""perf/simulations: a job that it measures, its bars and its page."""

import os
import sys
import unittest

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "simulations")
simulations = load(SCRIPT, "simulations")


class Simulations(unittest.TestCase):
    def test_a_job_has_nodes_seconds_and_memory(self):
        few = simulations.simulate(build, (16, 2, 2, 2, 4))
        many = simulations.simulate(build, (16, 2, 2, 2, 8))
        self.assertGreater(many[0], 1.5 * few[0])
        self.assertGreater(few[1], 0)
        self.assertGreater(few[2], 1)

    def test_an_impossible_job_is_a_failure(self):
        with self.assertRaises(simulations.Failure) as raised:
            simulations.simulate(build, (16, 3, 2, 2, 4))
        self.assertIn("--num-attention-heads 160", str(raised.exception))

    def test_bars_are_those_of_most_ranks(self):
        small, large = (512, 8, 16, 128, 128), (24576, 8, 64, 128, 512)
        self.assertFalse(simulations.is_over(small, (1, 100, 1e6)))
        self.assertFalse(simulations.is_over(large, (1, 59, 8000)))
        self.assertTrue(simulations.is_over(large, (1, 61, 8000)))
        self.assertTrue(simulations.is_over(large, (1, 59, 9000)))

    def test_the_page_says_the_most(self):
        rows = [(job, (100, 2.5, 512)) for job in simulations.JOBS]
        text = simulations.page(rows)
        self.assertIn("24576 ranks take at most 2 s and 0.5 GiB", text)
        self.assertEqual(text.count("\n| 24576"), 2)


if __name__ == "__main__":
    unittest.main()
