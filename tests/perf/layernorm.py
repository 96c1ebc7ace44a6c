"""perf/layernorm: its means and its picture, and four runs so small that they
take a second."""

import csv
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.path.insert(0, os.path.join(source, "perf"))

from bench import curves  # noqa: E402

layernorm = types.ModuleType("layernorm")
with open(os.path.join(source, "perf", "layernorm")) as script:
    layernorm.__file__ = script.name
    exec(script.read(), layernorm.__dict__)

JOB = (
    "--hidden-size 16 --num-attention-heads 2 --seq-length 16 "
    "--micro-batch-size 2 --global-batch-size 2 --eval-interval 2 --eval-iters 1 "
    "--lr-warmup-iters 1"
).split()
SVG = "{http://www.w3.org/2000/svg}"


def fields(path):
    """{name: bytes} of the integers in a file of safetensors: the samples."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    return {
        name: data[slice(*tensor["data_offsets"])]
        for name, tensor in header.items()
        if tensor.get("dtype") == "I32"
    }


class Curves(unittest.TestCase):
    def test_means_are_of_the_last_values(self):
        points = [(1, 4.0), (2, 2.0), (3, 6.0), (4, 1.0)]
        self.assertEqual(
            curves.smooth(points, 2), [(1, 4), (2, 3), (3, 4), (4, 3.5)]
        )

    def test_points_lie_where_the_axes_say(self):
        """The line of values as they are, and the one of their means."""
        points = {"a": [(0, 1.0), (5, 3.0), (10, 2.0)]}
        picture = curves.draw("t", "x", [((1, 3), {}, [("p", points)])], 1)
        root = xml.etree.ElementTree.fromstring(picture)
        lines = root.findall(SVG + "polyline")
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[0].get("points"), lines[1].get("points"))
        (x0, y0), (x1, y1), (x2, y2) = (
            map(float, pair.split(",")) for pair in lines[0].get("points").split()
        )
        self.assertAlmostEqual(x1 - x0, x2 - x1, places=1)
        self.assertAlmostEqual(y0 - y2, y2 - y1, places=1)
        self.assertGreater(y0, y1)

    def test_what_leaves_the_axes_is_drawn_at_their_edge(self):
        panel = curves.Panel(0, 0, 100, 10, (1, 3))
        self.assertEqual(panel.y(7), panel.y(3))


class Runs(unittest.TestCase):
    def test_lines_that_a_killed_run_did_not_end_do_not_count(self):
        """The next run ends such a line before it writes its own."""
        with tempfile.TemporaryDirectory() as work:
            run = layernorm.Run(types.SimpleNamespace(runs=work), 1, "pre-LN")
            with open(run.path + ".metrics", "w") as file:
                file.write(
                    '{"options":{}}\n{"iteration":1,"lm_loss":3}\n'
                    '{"iteration":2,"lm_\n{"iteration":2,"lm_loss":2}\n{"iter'
                )
            steps, validations = run.read()
        self.assertEqual({i: s["lm_loss"] for i, s in steps.items()}, {1: 3, 2: 2})
        self.assertEqual(validations, {})


class Script(unittest.TestCase):
    def train(self, runs, layers, *more):
        files = [os.path.join(runs, "layernorm." + end) for end in ("csv", "svg")]
        done = subprocess.run(
            [
                os.path.join(source, "perf", "layernorm"),
                *("--build", build, "--runs", runs, "--layers", layers),
                *("--iterations", "4", "--", *JOB, *more),
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(files[0]) as file:
            rows = list(csv.DictReader(file))
        return rows, xml.etree.ElementTree.parse(files[1]).getroot()

    def test_four_curves(self):
        with tempfile.TemporaryDirectory() as runs:
            rows, picture = self.train(runs, "1,2")
        by = {}
        for row in rows:
            by.setdefault((row["layers"], row["place"]), []).append(row)
        self.assertEqual(
            set(by), {(n, p) for n in "12" for p in ("pre-LN", "post-LN")}
        )
        for curve in by.values():
            self.assertEqual([int(r["iteration"]) for r in curve], [1, 2, 3, 4])
            for name in "lm_loss", "sop_loss", "sop_accuracy":
                self.assertTrue(curve[1]["validation_" + name])
                self.assertFalse(curve[2]["validation_" + name])
        for n in "12":
            losses = [
                [r["lm_loss"] for r in by[n, p]] for p in ("pre-LN", "post-LN")
            ]
            self.assertNotEqual(*losses)
        self.assertEqual(len(picture.findall(SVG + "polyline")), 16)

    def test_both_places_see_the_same_samples(self):
        """What one wrote of all that it trains on, the other writes, too."""
        written = []
        with tempfile.TemporaryDirectory() as work:
            for place in layernorm.PLACES.values():
                dump = os.path.join(work, "dump")
                job = [*layernorm.RECIPE, *layernorm.MADE_UP, *place, *JOB]
                done = subprocess.run(
                    [
                        os.path.join(build, "mtlm-dag"),
                        *(*job, "--num-layers", "1", "--train-iters", "4"),
                        *("--dump-first-step", dump, "--dump-samples", "8"),
                    ],
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                written.append(fields(os.path.join(dump, "rank-0.safetensors")))
                shutil.rmtree(dump)
        self.assertEqual(
            set(written[0]),
            {"tokens", "labels", "loss_mask", "types", "length", "order"},
        )
        self.assertEqual(*written)

    def test_other_options_train_anew_and_the_same_do_not(self):
        with tempfile.TemporaryDirectory() as runs:
            first = self.train(runs, "1")[0]
            log = os.path.join(runs, "1-pre-LN.log")
            before = os.stat(log).st_mtime_ns
            self.assertEqual(self.train(runs, "1")[0], first)
            self.assertEqual(os.stat(log).st_mtime_ns, before)
            other = self.train(runs, "1", "--seed", "7")[0]
        self.assertEqual(len(other), len(first))
        for a, b in zip(first, other):
            self.assertNotEqual(a["lm_loss"], b["lm_loss"])


if __name__ == "__main__":
    unittest.main()
