"""What perf/samples writes for PyTorch is what mtlm-dag trains on."""

import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.path.insert(0, os.path.join(source, "perf"))

from bench import tensors  # noqa: E402

OPTIONS = (
    "--num-layers 1 --hidden-size 16 --num-attention-heads 1 --seq-length 8 "
    "--vocab-size 100 --micro-batch-size 2 --global-batch-size 4 "
    "--train-iters 1 --lr 0.001 --eval-iters 0 --seed 5"
).split()


class Samples(unittest.TestCase):
    def test_first_batch_is_that_of_the_dump(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "samples")
            subprocess.run(
                [os.path.join(build, "perf", "samples"), path, "3", *OPTIONS],
                check=True,
            )
            subprocess.run(
                [
                    os.path.join(build, "mtlm-dag"),
                    *OPTIONS,
                    *("--dump-first-step", directory, "--workers", "1"),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            written = tensors.read(path)
            dump = tensors.read(os.path.join(directory, "rank-0.safetensors"))
            self.assertEqual(written["tokens"].shape, (12, 8))
            compared = 0
            for name, values in written.items():
                if name not in dump:
                    continue
                np.testing.assert_array_equal(
                    values[:4].ravel(), dump[name].ravel()
                )
                compared += 1
            self.assertGreaterEqual(compared, 2)

    def test_wrong_options_are_refused(self):
        done = subprocess.run(
            [os.path.join(build, "perf", "samples"), "/dev/null", "1", "--hi"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("--hi", done.stderr)


if __name__ == "__main__":
    unittest.main()
