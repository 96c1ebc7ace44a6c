"""perf/check_bound accepts the proofs of --bound-out, and no changed one."""

import copy
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
full = os.environ.get("TIER") == "full"
sys.dont_write_bytecode = True  # of scripts without a suffix

SCRIPT = os.path.join(source, "perf", "check_bound")
LOADER = importlib.machinery.SourceFileLoader("check_bound", SCRIPT)
script = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("check_bound", LOADER)
)
LOADER.exec_module(script)
from bench.proof_file import numbers  # noqa: E402

TIMES = """\
[stage 0-7]
forward_ms = 5
backward_ms = 6.5
weight_ms = 4
[hop]
latency_us = 5000
"""
FUSED = """\
[stage 0-3]
forward_ms = 10
backward_ms = 13
weight_ms = 8
[hop]
latency_us = 5000
"""


def prove(folder, times, ranks, *options):
    """The files of the times and of a proof; None: this build has no GLPK."""
    stages, proof = (os.path.join(folder, x) for x in ("t.ini", "proof.json"))
    with open(stages, "w", encoding="utf-8") as file:
        file.write(times)
    done = subprocess.run(
        [os.path.join(build, "mtlm-dag"), "--model", "gpt-tiny", "--num-layers",
         "8", "--micro-batch-size", "1", "--global-batch-size", "8",
         "--pipeline-model-parallel-size", str(ranks), "--workers", "1",
         "--dry-run", "--stage-times", stages, "--bound", "lp", "--bound-out",
         proof, *options],
        capture_output=True, text=True, check=False)
    if "needs GLPK" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return stages, proof


def add_up(proof):
    proof["sum"] = 0
    proof["sum"] = sum(numbers(proof))
    return proof


def places(value):
    """Every number of a JSON value, as the list and key that hold it."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        if isinstance(value[key], int):
            yield value, key
        else:
            yield from places(value[key])


class Proofs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        files = prove(cls.folder.name, TIMES, 4, "--schedule", "v-half",
                      "--schedule-mode", "strict")
        if not files:
            raise unittest.SkipTest("this build has no GLPK")
        cls.times, cls.path = files
        cls.proof = script.read(cls.path)

    def refused(self, proof):
        """Whether the proof, as a file, is refused."""
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(proof, file)
        try:
            script.check(script.read(self.path))
        except script.Refused:
            return True
        return False

    def test_proofs_hold(self):
        script.compare(self.proof, self.times)
        script.check(self.proof)
        with tempfile.TemporaryDirectory() as folder:
            _, fused = prove(folder, FUSED, 4, "--schedule", "1f1b")
            script.check(script.read(fused))

    def test_other_times_are_refused(self):
        other = os.path.join(self.folder.name, "other.ini")
        with open(other, "w", encoding="utf-8") as file:
            file.write(TIMES.replace("= 6.5", "= 6.4"))
        with self.assertRaises(script.Refused):
            script.compare(self.proof, other)

    def test_each_changed_number_is_refused(self):
        for holder, key in list(places(self.proof)):
            for more in 1, -1:
                holder[key] += more
                self.assertTrue(self.refused(self.proof), (holder, key))
                holder[key] -= more
        self.assertFalse(self.refused(self.proof))

    def test_other_multipliers_prove_less(self):
        """The sum of the numbers is right.  A few may prove as much."""
        refused = n = 0
        for i in range(0, len(self.proof["multipliers"]), 1 if full else 9):
            for factor in 0.5, 2:
                proof = copy.deepcopy(self.proof)
                row = proof["multipliers"][i]
                row[1] = int(row[1] * factor)
                refused += self.refused(add_up(proof))
                n += 1
        self.assertGreater(refused, 0.9 * n)

    def test_other_pipelines_are_refused(self):
        """The sum of the numbers is right."""
        changed = []
        for key, factor in (("makespan_ns", 1.01), ("hop_ns", 0.9),
                            ("memory", 1.2), ("microbatches", 0.9)):
            changed.append(copy.deepcopy(self.proof))
            changed[-1][key] = int(changed[-1][key] * factor)
        for i in 1, 2, 3, 5:
            changed.append(copy.deepcopy(self.proof))
            for stage in changed[-1]["stages"]:
                stage[i] = int(stage[i] * 0.9)
        for proof in changed:
            self.assertTrue(self.refused(add_up(proof)))

    def test_files_of_other_kinds_are_refused(self):
        for text in ("", "[]", "{}", "{" * 9999, '{"sum": 1, "sum": 2}', "1e9"):
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text)
            with self.assertRaises(script.Refused):
                script.read(self.path)


if __name__ == "__main__":
    unittest.main()
