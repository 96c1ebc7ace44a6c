#!/usr/bin/python3
"""perf/bf16_vs_pytorch with programs that only say their lines: what it judges
and writes."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.environ.get("srcdir", "."))

# Losses 10, 9, 8 and 7 in fp32; OFF times that in bf16.
OURS = """#!/usr/bin/python3
import sys
if "--version" in sys.argv:
    sys.exit(print("mtlm-dag 9.9"))
for i in range(4):
    loss = (10 - i) * (OFF if "--bf16" in sys.argv else 1)
    print(f" [2024-01-02 03:04:05] iteration        {i + 1}/       4 |"
          f" elapsed time per iteration (ms): 50.0 | lm loss: {loss:.6E} |")
"""

PEER = """#!/usr/bin/python3
import json, sys
if sys.argv[1] == "-c":
    sys.exit()  # there is a PyTorch
options = json.loads(sys.argv[2])
assert options["device"] == "cpu"
print(json.dumps({"torch": "9.0", "device": "cpu"}))
for i in range(4):
    off = OFF if options["setting"] == "masters" else 1
    print(json.dumps({"loss": (10 - i) * off}))
"""


NO_TORCH = """#!/bin/sh
echo "Traceback (most recent call last):
ModuleNotFoundError: No module named 'torch'" >&2
exit 1
"""


class Bf16(unittest.TestCase):
    def program(self, name, text):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def run_with(self, ours, theirs, peer=PEER):
        """Both bf16 are so many times fp32."""
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name
        self.program("build/mtlm-dag", OURS.replace("OFF", str(ours)))
        self.program("build/perf/samples", "#!/bin/sh\n")
        return subprocess.run(
            [
                *(sys.executable, os.path.join(SOURCE, "perf", "bf16_vs_pytorch")),
                *("--build", os.path.join(self.work, "build")),
                "--python",
                self.program("python", peer.replace("OFF", str(theirs))),
                *("--iterations", "4", "--write", self.work),
            ],
            capture_output=True,
            text=True,
        )

    def result(self):
        with open(os.path.join(self.work, "bf16.json")) as file:
            return json.load(file)

    def test_what_is_near_is_right_and_written(self):
        done = self.run_with(1.004, 1.003)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Both bounds hold", done.stdout)
        found = self.result()
        self.assertAlmostEqual(found["far"]["ours"], 0.004)
        self.assertAlmostEqual(found["far"]["PyTorch"], 0.003)
        self.assertAlmostEqual(found["between"], 1.004 / 1.003 - 1)
        self.assertEqual(found["fp32"], 0)
        with open(os.path.join(self.work, "bf16.svg")) as file:
            self.assertEqual(file.read().count("<polyline"), 6)

    def test_bf16_of_another_kind_is_wrong(self):
        done = self.run_with(1.004, 0.99)
        self.assertEqual(done.returncode, 1)
        self.assertIn("A BOUND IS BROKEN", done.stdout)

    def test_bf16_that_loses_more_is_wrong(self):
        done = self.run_with(1.004, 1.001)
        self.assertEqual(done.returncode, 1)
        self.assertFalse(self.result()["right"])

    def test_pytorch_is_asked_for_before_anything_runs(self):
        done = self.run_with(1, 1, NO_TORCH)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(
            done.stderr,
            f"bf16_vs_pytorch: {self.work}/python: ModuleNotFoundError: No "
            "module named 'torch'; launch/setup --peers installs PyTorch\n",
        )

    def test_a_program_that_fails_is_named(self):
        done = self.run_with("nonsense", 1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bf16_vs_pytorch: ", done.stderr)
        self.assertIn("mtlm-dag", done.stderr)


if __name__ == "__main__":
    unittest.main()
