"""perf/staleness: eight runs so small that they take a second."""

import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")

JOB = (
    "--num-layers 1 --hidden-size 16 --num-attention-heads 2 --seq-length 16 "
    "--micro-batch-size 2 --global-batch-size 2 --eval-iters 1"
).split()
# Counts its runs, in a file beside it.
PROGRAM = """#!/bin/sh
echo run >>"$0.runs"
while [ "$1" != --metrics ]; do shift; done
for i in 1 2; do
    echo "{\\"iteration\\": $i, \\"validation\\": {\\"lm_loss\\": 2.5}}"
done >"$2"
"""
SVG = "{http://www.w3.org/2000/svg}"


class Script(unittest.TestCase):
    def test_rows_of_both(self):
        with tempfile.TemporaryDirectory() as work:
            text = os.path.join(work, "text")
            with open(text + ".txt", "w") as file:
                for i in range(300):
                    file.write(f"Line {i} of a text that says little.\n")
            subprocess.run(
                [
                    os.path.join(build, "mtlm-preprocess"),
                    *("--input", text + ".txt", "--output-prefix", text),
                    *("--tokenizer-type", "byte"),
                ],
                check=True,
                capture_output=True,
            )
            done = subprocess.run(
                [
                    os.path.join(source, "perf", "staleness"),
                    *("--build", build, "--runs", work, "--seeds", "2"),
                    *("--data-path", text, "--iterations", "4"),
                    *("--lr", "1e-3", "--lr", "1e-2", "--write", work),
                    *("--", *JOB),
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(work, "staleness.md")) as file:
                self.assertEqual(file.read(), done.stdout.rstrip("\n") + "\n")
            picture = xml.etree.ElementTree.parse(
                os.path.join(work, "staleness.svg")
            )
        self.assertIn(
            "\n    perf/staleness --seeds 2 --data-path "
            f"{text} --iterations 4 --lr 1e-3 --lr 1e-2 -- {' '.join(JOB)}\n",
            done.stdout,
        )
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in done.stdout.splitlines()
            if line.startswith("|") and line[2].isdecimal()
        ]
        self.assertEqual([row[0] for row in rows], 2 * ["1", "2", "3", "4"])
        # The first step has no delay, the second one has.
        self.assertEqual(rows[0][1], rows[0][2])
        self.assertEqual(rows[0][3], "0.00 +- 0.00")
        self.assertNotEqual(rows[7][1], rows[7][2])
        self.assertEqual(len(picture.findall(SVG + "polyline")), 8)

    def program(self, work):
        """The path of a program that counts its runs."""
        program = os.path.join(work, "mtlm-dag")
        with open(program, "w") as file:
            file.write(PROGRAM)
        os.chmod(program, 0o700)
        return program

    def runs_of(self, program, *words):
        """How often the program has run after these words."""
        done = subprocess.run(
            [
                os.path.join(source, "perf", "staleness"),
                *("--build", os.path.dirname(program), "--seeds", "2"),
                *("--data-path", "text", "--iterations", "2", *words),
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(program + ".runs") as file:
            return len(file.readlines())

    def test_a_rate_that_is_there_twice_counts_once(self):
        """Two seeds, and both ways of each."""
        with tempfile.TemporaryDirectory() as work:
            self.assertEqual(
                self.runs_of(self.program(work), *2 * ("--lr", "1e-3")), 4
            )

    def test_a_changed_program_takes_no_figures_of_the_program_before(self):
        with tempfile.TemporaryDirectory() as work:
            program = self.program(work)
            for change, runs in ("", 4), ("", 4), ("# changed\n", 8):
                with open(program, "a") as file:
                    file.write(change)
                self.assertEqual(self.runs_of(program, "--lr", "1e-3"), runs)


if __name__ == "__main__":
    unittest.main()
