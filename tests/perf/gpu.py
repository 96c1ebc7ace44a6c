#!/usr/bin/python3
"""perf/gpu_vs_pytorch and launch/gpu-check with programs that only say their
lines: what is made of these, and of failures."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.environ.get("srcdir", "."))
sys.path.insert(0, os.path.join(SOURCE, "perf"))

from bench import gpu_cases  # noqa: E402

OURS = """#!/bin/sh
[ "$1" != --version ] || exec echo "mtlm-dag 9.9"
for i in 1 2 3 4; do
    echo " [2024-01-02 03:04:05] iteration        $i/       4 |\
 elapsed time per iteration (ms): 50.0 | lm loss: 1.0E+01 |"
done
"""

PEER = """#!/bin/sh
echo '{"torch": "2.0", "device": "NVIDIA H200", "matrix_tflops": 500}'
case $2 in
*bert-1.3b*) exit 3 ;;
*seconds* | *case*)
    for i in 1 2 3 4; do echo '{"seconds": 0.1, "loss": 10}'; done ;;
esac
"""


def program(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


class AgainstPyTorch(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name
        program(self.work, "mtlm-dag", OURS)
        self.python = program(self.work, "python", PEER)

    def run_with(self, *words):
        return subprocess.run(
            [
                os.path.join(SOURCE, "perf", "gpu_vs_pytorch"),
                *("--build", self.work, "--python", self.python),
                *("--write", self.work, "--warm-up", "1"),
                *("--iterations", "3", *words),
            ],
            capture_output=True,
            text=True,
        )

    def result(self):
        path = os.path.join(self.work, "gpu_vs_pytorch-nvidia-h200.json")
        with open(path) as file:
            return json.load(file)

    def test_half_the_time_is_twice_as_fast(self):
        done = self.run_with("gpt2-124m")
        self.assertEqual(done.returncode, 0, done.stderr)
        (case,) = self.result()["cases"]
        self.assertEqual(case["autocast"]["ratio"]["median"], 2)
        self.assertEqual(case["ours"]["n"], 6)
        tflops = gpu_cases.CASES["gpt2-124m"].flops / 0.05 * 1e-12
        self.assertAlmostEqual(case["ours"]["tflops"], tflops)
        self.assertAlmostEqual(case["ours"]["mfu"], tflops / 989.5)
        self.assertAlmostEqual(case["ours"]["of_matrix_peak"], tflops / 500)

    def test_one_that_fails_is_named_and_the_others_are_kept(self):
        done = self.run_with("bert-1.3b", "gpt2-124m")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bert-1.3b: ", done.stdout)
        self.assertIn("ended with 3", self.result()["failed"]["bert-1.3b"])
        self.assertEqual(len(self.result()["cases"]), 1)

    def test_no_case_begins_when_time_is_up(self):
        done = self.run_with("--seconds", "0", "gpt2-124m")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gpt2-124m: no time", done.stdout)

    def test_what_was_measured_is_kept_when_time_runs_out(self):
        """The second case would not begin, and the first has one round."""
        program(
            self.work, "python", PEER.replace("for i in", "sleep 1; for i in")
        )
        done = self.run_with("--seconds", "1.5", "gpt2-124m", "gpt2-2.5b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.result()["cases"][0]["ours"]["n"], 3)

    def test_model_flops_are_the_published_formula_s(self):
        """Table of megatron's V1.0 announcement: 1.2B, batch of 8."""
        case = gpu_cases.CASES["gpt2-v1-1.2b"]
        b, s, layers, h, v = 8, 1024, 24, 1920, 51200
        by_hand = 72 * b * s * layers * h**2 * (1 + s / 6 / h + v / 12 / layers / h)
        self.assertAlmostEqual(case.flops / case.microbatches / by_hand, 1)


class GpuCheck(unittest.TestCase):
    def check(self, *words, path=None):
        output = os.path.join(self.work, "out.json")
        done = subprocess.run(
            [
                *(sys.executable, os.path.join(SOURCE, "launch", "gpu-check")),
                *("--output", output, *words),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path or os.environ["PATH"]},
        )
        if not os.path.exists(output):
            return done, None
        with open(output) as file:
            return done, json.load(file)["checks"]

    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name

    def test_the_device_is_recorded(self):
        program(
            self.work,
            "nvidia-smi",
            "#!/bin/sh\necho 'NVIDIA H200, 580.1, 143771 MiB, 0 MiB, 1980 MHz'\n",
        )
        path = self.work + ":" + os.environ["PATH"]
        done, checks = self.check("--only", "device", path=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(checks["device"]["figures"]["name"], "NVIDIA H200")

    def test_a_machine_without_gpu_is_no_success(self):
        done, checks = self.check("--only", "device", path="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(checks["device"]["status"], "cannot run")

    def test_what_finds_no_time_is_said(self):
        done, checks = self.check("--only", "device", "--minutes", "0")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(checks["device"]["status"], "no time")

    def test_names_are_checked(self):
        done, _ = self.check("--only", "all")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no check 'all' (device, ", done.stderr)


if __name__ == "__main__":
    unittest.main()
