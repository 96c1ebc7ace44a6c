"""Which loops of PyTorch perf/parallel_vs_pytorch tries, and which it leaves
out.  Nothing is measured."""

import collections
import os
import sys
import unittest
import unittest.mock

PERF = os.path.join(os.environ.get("srcdir", "."), "perf")
sys.path.insert(0, PERF)

from bench import comparison, layouts, loops, machine, ours, theirs  # noqa: E402

sys.dont_write_bytecode = True

from perf_script import load  # noqa: E402

parallel = load(os.path.join(PERF, "parallel_vs_pytorch"), "parallel_vs_pytorch")

OLD = dict(
    torch="1.13", masters=False,
    sdpa=False, fused=False, compiles=False, pipelining=False, megatron=None
)
NEW = dict(
    torch="2.15", masters=True,
    sdpa=True, fused=True, compiles=True, pipelining=True, megatron="0.16.1"
)


def peer(python, about):
    setting = theirs.Setting(python, python, None, processes=2, threads=1)
    return comparison.Peer(setting, about)


class TryLoops(unittest.TestCase):
    def setUp(self):
        """One whose settings take no time: foreach AdamW takes the least CPU, a
        later one less wall clock; and whose runs are noted."""
        self.parallel = parallel.Parallel.__new__(parallel.Parallel)
        self.parallel.best, self.parallel.losses = {}, None
        self.parallel.blas_dirs, self.parallel.inputs = ["/x"], {}
        self.parallel.peers = [peer("old", OLD), peer("new", NEW)]
        self.asked, self.broken, self.other, self.late = [], {}, {}, {}
        self.fragile = None
        for where, name, new in (
            (self.parallel, "few", self.few),
            (parallel, "say", lambda text: None),
            (machine, "has_avx512", lambda: False),
        ):
            patch = unittest.mock.patch.object(where, name, new)
            patch.start()
            self.addCleanup(patch.stop)

    def few(self, setting, *_):
        self.asked.append(setting)
        for what in setting.loop, setting.adam:
            if what in self.broken:
                raise ours.Failure(self.broken[what] + "\nand more")
        if setting.adam == self.fragile and self.asked.count(setting) > 1:
            raise ours.Failure("no memory")
        cpu = 2 - (setting.adam == "foreach")
        wall = 2 - (setting.adam == "loop") / 2
        wall += self.late.pop(setting.loop, 0)
        loss = self.other.get(setting.loop, 9.5)
        return dict(cpu=[cpu], seconds=[wall], losses=[[loss]]), wall

    def asked_for(self, layout):
        self.asked = []
        found = self.parallel.try_loops(layouts.LAYOUTS[layout])
        self.runs = collections.Counter(self.asked)
        self.asked = list(self.runs)
        self.assertLessEqual(max(self.runs.values()), 2)
        return found

    def test_cpu_time_chooses_adamw_and_wall_clock_counts(self):
        tried, failed = self.asked_for("P2")
        self.assertEqual(set(tried), set(self.asked))
        self.assertFalse(failed)
        for setting in tried:
            if setting.loop != loops.PIPELINE:
                self.assertEqual(setting.adam, "foreach")
            self.assertEqual(tried[setting], 2 - (setting.adam == "loop") / 2)

    def test_who_is_near_is_tried_twice(self):
        self.late = {"torch GPipe": 0.4, "torch 1F1B": 9}
        tried, _ = self.asked_for("P2")
        seconds = {s.loop: (tried[s], self.runs[s]) for s in tried}
        self.assertEqual(seconds["torch GPipe"], (2, 2))
        self.assertEqual(seconds["torch 1F1B"], (11, 1))

    def test_later_layouts_ask_for_loops_only(self):
        self.asked_for("P2")
        self.asked_for("D2")
        self.assertEqual({s.adam for s in self.asked}, {"foreach"})
        self.assertEqual(
            [(s.torch, s.loop, s.compiled) for s in self.asked],
            [
                ("old", "DDP", False),
                ("new", "DDP", False),
                ("new", "megatron-core", False),
                ("new", "megatron-core", True),
                ("new", "DDP", True),
            ],
        )

    def test_a_loop_that_does_not_run_is_left_out_with_the_reason(self):
        self.broken = {"torch 1F1B": "it did nothing for 120 s"}
        tried, failed = self.asked_for("P2")
        self.assertNotIn("torch 1F1B", {s.loop for s in tried})
        self.assertIn("torch GPipe", {s.loop for s in tried})
        self.assertEqual(list(failed.values()), ["it did nothing for 120 s"])

    def test_a_variant_that_does_not_run_is_left_out_with_the_reason(self):
        self.broken = {"fused": "fused AdamW needs a GPU"}
        tried, failed = self.asked_for("P2")
        self.assertEqual({s.torch for s in tried}, {"old", "new"})
        self.assertNotIn("fused", {s.adam for s in tried})
        self.assertEqual(list(failed.values()), ["fused AdamW needs a GPU"])

    def test_a_second_run_that_fails_leaves_the_first_one(self):
        self.fragile = "foreach"
        tried, failed = self.asked_for("P2")
        self.assertIn("foreach", {s.adam for s in tried})
        self.assertIn(2, {self.runs[s] for s in tried if s.adam == "foreach"})
        self.assertFalse(failed)

    def test_a_loop_with_other_losses_is_left_out(self):
        self.other = {"megatron-core": 9.4}
        tried, failed = self.asked_for("T2")
        self.assertEqual({s.loop for s in tried}, {"own"})
        self.assertEqual(len(failed), 2)
        for why in failed.values():
            self.assertIn("not the same training", why)

    def test_without_the_first_loop_there_is_no_comparison(self):
        self.broken = {"own": "no such module"}
        with self.assertRaises(ours.Failure):
            self.asked_for("T2")


if __name__ == "__main__":
    unittest.main()
