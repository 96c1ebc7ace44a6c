"""perf/growth: exponents of made-up results, the page, two sizes, a wrong axis."""

import glob
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "growth")
script = load(SCRIPT, "growth_script")
growth, growth_page = script.growth, script.growth_page

SIZES = [3 * 2**k for k in range(6)]
AXES = {axis.name: axis for axis in script.AXES}


def made(ms, mib=lambda n: 20, ranks=lambda n: 1):
    """Rows of nodes whose time and memory are functions of the size."""
    return [
        {"size": n, "ranks": ranks(n), "nodes": 10 * n, "flops": 1e6 * n,
         "ms": ms(n), "cpu_ms": ms(n), "mib": mib(n), "planned_mib": 20,
         "start": 0.5, "others": 0}
        for n in SIZES
    ]


class Arithmetic(unittest.TestCase):
    def test_powers_have_their_exponents(self):
        for power in (0, 0.5, 1, 2):
            values = [7 * n**power for n in SIZES]
            self.assertAlmostEqual(growth.slope(SIZES, values), power)

    def test_a_line_of_least_squares(self):
        """(0, 0), (1, 2), (2, 1) in logarithms: slope 1/2."""
        found = growth.slope([1, math.e, math.e**2], [1, math.e**2, math.e])
        self.assertAlmostEqual(found, 0.5)

    def test_linear_time_is_as_expected(self):
        found = growth.exponents(AXES["nodes"], made(lambda n: 3 * n), 2)
        self.assertAlmostEqual(found["time"]["all"], 1)
        self.assertAlmostEqual(found["time"]["expected"], 1)
        self.assertFalse(found["time"]["off"] or found["memory"]["off"])

    def test_what_grows_faster_is_marked(self):
        rows = made(lambda n: n**1.3, lambda n: n**0.5)
        found = growth.exponents(AXES["nodes"], rows, 2)
        self.assertTrue(found["time"]["off"] and found["memory"]["off"])

    def test_the_last_doublings_count_alone(self):
        """Only the largest size takes twice what it should."""
        rows = made(lambda n: n * (2 if n == SIZES[-1] else 1))
        found = growth.exponents(AXES["layers"], rows, 2)["time"]
        self.assertAlmostEqual(found["last"], 1.5)
        self.assertTrue(found["off"])

    def test_ranks_beyond_the_cores_share_them(self):
        row = {"nodes": 100, "ranks": 8, "flops": 1}
        self.assertEqual(growth.work(AXES["tensor"], row, 2), 400)
        row["ranks"] = 2
        self.assertEqual(growth.work(AXES["tensor"], row, 2), 100)

    def test_flops_as_the_plan_counts_them(self):
        """72 h^2 and 12 s h per token of a layer, 6 h V of the output layer."""
        case = script.tiny(4, 16)
        done = subprocess.run(
            [os.path.join(build, "mtlm-dag"), *case.options(1), "--dry-run"],
            capture_output=True, text=True, check=True)
        said = done.stdout.split("model FLOPs")[1].split()[0]
        of_padding = 6 * 16 * (128 - 64) * case.tokens
        self.assertAlmostEqual(
            (growth.flops(case) + of_padding) / float(said), 1, places=3)


class Rounds(unittest.TestCase):
    def test_the_least_time_and_the_most_memory(self):
        few, many = made(lambda n: n)[0], made(lambda n: 2 * n, lambda n: 30)[0]
        row = script.combined([many, few])
        self.assertEqual((row["ms"], row["mib"]), (few["ms"], 30))


class Kept(unittest.TestCase):
    def test_a_size_is_measured_anew_with_a_changed_program_only(self):
        """mtlm-preprocess has no part in a run."""
        point, runs = AXES["nodes"].points[0], []

        def measure(*_):
            runs.append(0)
            return {"ms": len(runs)}
        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(
                script, "measure", measure):
            program = script.Ours(work)
            binary = os.path.join(work, "mtlm-dag")
            for number, (text, row) in enumerate(
                    (("a", 1), ("a", 1), ("b", 2), ("b", 2))):
                with open(binary, "w", encoding="ascii") as file:
                    file.write(text)
                os.utime(binary, (number // 3, number // 3))
                with open(os.path.join(work, "mtlm-preprocess"), "a",
                          encoding="ascii") as file:
                    file.write("changed")
                self.assertEqual(
                    script.kept(program, program.digest(),
                                os.path.join(work, "run"), point),
                    {"ms": row})

    def test_another_machine_has_rows_of_its_own(self):
        """Another processor, then other cores of it."""
        point, about = AXES["nodes"].points[0], script.machine.kind()
        rows = []

        def measure(*_):
            rows.append({"ms": len(rows)})
            return rows[-1]
        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(
                script, "measure", measure), unittest.mock.patch.object(
                script.machine, "kind", lambda: about):
            with open(os.path.join(work, "mtlm-dag"), "w", encoding="ascii"):
                pass
            program = script.Ours(work)
            for change in {}, {"model": "another"}, {"cores": 999}, {}:
                about.update(change)
                row = script.kept(program, program.digest(),
                                  os.path.join(work, "run"), point)
                self.assertEqual(row, rows[-1])
        self.assertEqual(len(rows), 3)

    def test_a_program_that_changes_meanwhile_leaves_no_row(self):
        with tempfile.TemporaryDirectory() as work:
            path, point = os.path.join(work, "run"), AXES["nodes"].points[0]

            def build(*_):
                with open(os.path.join(work, "mtlm-dag"), "a",
                          encoding="ascii") as file:
                    file.write("built")
                return {"ms": 1}
            build()
            program = script.Ours(work)
            with unittest.mock.patch.object(script, "measure", build), \
                    self.assertRaises(script.Failure):
                script.kept(program, program.digest(), path, point)
            self.assertFalse(os.path.exists(path + ".json"))


class Page(unittest.TestCase):
    def test_rows_and_marks(self):
        axes = [AXES["nodes"], AXES["layers"]]
        results = {"nodes": made(lambda n: n**1.5), "layers": made(lambda n: n)}
        about = {**script.machine.kind(), "cores": 2}
        text = growth_page.page(about, "mtlm-dag", "perf/growth", axes, results,
                                "growth-x.svg")
        self.assertIn("(growth-x.svg)", text)
        marked = [line for line in text.split("\n") if "FASTER |" in line]
        self.assertEqual(len(marked), 1)
        self.assertRegex(marked[0], r"\| nodes +\| +time \| +1.50 \| +1.00 \|")
        for n in SIZES:
            self.assertEqual(text.count(f"\n| {n} "), 2)
        xml.etree.ElementTree.fromstring(growth_page.picture(axes, results, 2))


class Script(unittest.TestCase):
    def grow(self, *words):
        return subprocess.run(
            [sys.executable, "-B", SCRIPT, "--build", build, *words],
            capture_output=True, text=True, check=False)

    def test_two_sizes_are_measured_and_kept(self):
        with tempfile.TemporaryDirectory() as work:
            words = ("nodes", "--sizes", "2", "--rounds", "1",
                     "--runs", work, "--write", work)
            done = self.grow(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("nodes 960: ", done.stderr)
            name, = glob.glob(os.path.join(work, "growth-*-part.json"))
            with open(name, encoding="utf-8") as file:
                rows = json.load(file)["results"]["nodes"]
            self.assertAlmostEqual(rows[0]["nodes"], 960, delta=96)
            self.assertGreater(rows[1]["nodes"], 3 * rows[0]["nodes"])
            for row in rows:
                self.assertGreater(min(row["ms"], row["mib"], row["start"]), 0)
            again = self.grow(*words)
            self.assertEqual(again.stdout, done.stdout)

    def refused(self, *words):
        done = self.grow(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr.strip().split("\n")[-1]

    def test_a_wrong_axis_is_refused(self):
        self.assertEqual(
            self.refused("layer"),
            "growth: error: no axis 'layer' (layers, hidden, sequence, "
            "microbatches, nodes, pipeline, tensor, data)")

    def test_one_size_makes_no_line(self):
        self.assertEqual(
            self.refused("layers", "--sizes", "1"),
            "growth: error: --sizes is 1, it must be at least 2")


if __name__ == "__main__":
    unittest.main()
