"""perf/check_bound accepts the proofs of --bound-out, and no changed one."""

import copy
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zlib

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
full = os.environ.get("TIER") == "full"
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "check_bound")
script = load(SCRIPT, "check_bound")
from bench.proof_times import difference  # noqa: E402

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


HEAD = """\
{"mtlm_dag_bound": %d, "makespan_ns": %d, "microbatches": %d,
 "hop_ns": %d, "fused": %d, "memory": %d, "rank": %d, "points": %d,
 "stages": [
  %s],
 "multipliers": [
  %s],
 "crc32":"""


def text_of(proof):
    """The proof in the form of a file, up to its CRC-32."""
    *head, stages, multipliers, _ = proof.values()
    return HEAD % (*head, *(",\n  ".join(map(json.dumps, rows))
                            for rows in (stages, multipliers)))


def sign(proof):
    """The proof with the CRC-32 of its numbers."""
    proof["crc32"] = zlib.crc32(text_of(proof).encode())
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
        return self.refused_text(f"{text_of(proof)} {proof['crc32']}}}\n")

    def refused_text(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            script.check(script.read(self.path))
        except ValueError:
            return True
        return False

    def test_proofs_hold(self):
        self.assertIsNone(difference(self.proof, self.times))
        script.check(self.proof)
        self.assertFalse(self.refused(self.proof))
        self.assertEqual(sign(copy.deepcopy(self.proof)), self.proof)
        with tempfile.TemporaryDirectory() as folder:
            _, fused = prove(folder, FUSED, 4, "--schedule", "1f1b")
            script.check(script.read(fused))

    def test_other_times_are_refused(self):
        other = os.path.join(self.folder.name, "other.ini")
        for old, new in (("= 6.5", "= 6.4"), ("0-7", "0-6"), ("0-7", "0-8"),
                         ("= 5000", "= 5001"), ("[hop]", "[stage hop]")):
            with open(other, "w", encoding="utf-8") as file:
                file.write(TIMES.replace(old, new))
            self.assertIn("other.ini", difference(self.proof, other))

    def test_the_statement_names_the_pipeline(self):
        self.assertFalse(self.refused(self.proof))  # writes the file
        done = subprocess.run([SCRIPT, self.path, self.times], check=False,
                              capture_output=True, text=True)
        self.assertRegex(
            done.stdout, "8 microbatches on stages of ranks 0 1 2 3 3 2 1 0, B and "
            "W apart, at most 3 microbatches on rank [0-3]: no schedule takes less")

    def test_each_changed_number_is_refused(self):
        for holder, key in list(places(self.proof)):
            for more in 1, -1:
                holder[key] += more
                self.assertTrue(self.refused(self.proof), (holder, key))
                holder[key] -= more
        self.assertFalse(self.refused(self.proof))

    def test_swapped_numbers_are_refused(self):
        """Lines of multipliers and of stages, and numbers of a stage."""
        proof, step = copy.deepcopy(self.proof), 1 if full else 3
        swapped = 0
        for rows in proof["multipliers"], proof["stages"], proof["stages"][0]:
            for i, j in itertools.combinations(range(0, len(rows), step), 2):
                if rows[i] != rows[j]:
                    rows[i], rows[j] = rows[j], rows[i]
                    self.assertTrue(self.refused(proof), (i, j))
                    rows[i], rows[j] = rows[j], rows[i]
                    swapped += 1
        self.assertEqual(proof, self.proof)
        self.assertGreater(swapped, 10)

    def test_files_that_were_cut_off_are_refused(self):
        text = f"{text_of(self.proof)} {self.proof['crc32']}}}\n"
        for n in {*range(0, len(text), 1 if full else 7), len(text) - 1}:
            self.assertTrue(self.refused_text(text[:n]), n)
        self.assertTrue(self.refused_text(text + "\n"))
        self.assertTrue(self.refused_text(text.replace(" [", "[", 1)))
        self.assertFalse(self.refused_text(text))

    def test_other_multipliers_prove_less(self):
        """The CRC-32 is right.  A few may prove as much."""
        refused = n = 0
        for i in range(0, len(self.proof["multipliers"]), 1 if full else 9):
            for factor in 0.5, 2:
                proof = copy.deepcopy(self.proof)
                row = proof["multipliers"][i]
                row[1] = int(row[1] * factor)
                refused += self.refused(sign(proof))
                n += 1
        self.assertGreater(refused, 0.9 * n)

    def test_other_pipelines_are_refused(self):
        """The CRC-32 is right."""
        changed = []
        for key, factor in (("makespan_ns", 1.01), ("hop_ns", 0.9),
                            ("memory", 1.2), ("microbatches", 0.9),
                            ("points", 1.1), ("points", 1e6), ("rank", 9),
                            ("mtlm_dag_bound", 2)):
            changed.append(copy.deepcopy(self.proof))
            changed[-1][key] = int(changed[-1][key] * factor) or 9
        for i in 1, 2, 3, 5:
            changed.append(copy.deepcopy(self.proof))
            for stage in changed[-1]["stages"]:
                stage[i] = int(stage[i] * 0.9)
        for rows in (lambda p: p["multipliers"].reverse(),
                     lambda p: p["multipliers"].append(p["multipliers"][-1]),
                     lambda p: p["multipliers"].append([10**9, 1]),
                     lambda p: p["multipliers"].insert(0, [0, 0])):
            changed.append(copy.deepcopy(self.proof))
            rows(changed[-1])
        for proof in changed:
            self.assertTrue(self.refused(sign(proof)))

    def test_files_of_other_kinds_are_refused(self):
        for text in ("", "[]", "{}", "{" * 9999, '{"crc32": 1}', "1e9"):
            self.assertTrue(self.refused_text(text), text)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    if result.skipped:
        print("skipped:", result.skipped[0][1])
    sys.exit(77 if result.skipped and result.wasSuccessful()
             else not result.wasSuccessful())
