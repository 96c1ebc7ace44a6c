"""perf/learning: runs so small that they take a second."""

import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")


class Script(unittest.TestCase):
    def learn(self, work, *words, more=()):
        return subprocess.run(
            [os.path.join(source, "perf", "learning"), "--build", build,
             "--runs", os.path.join(work, "runs"), "--questions", "200",
             "--iterations", "20", "--pretraining", "20", "--epochs", "2",
             *words, "--", "--num-layers", "1", "--hidden-size", "32", *more],
            capture_output=True, text=True, check=False)

    def test_a_page_with_curves(self):
        with tempfile.TemporaryDirectory() as work:
            done = self.learn(work, "language", "mnli", "squad-1.1",
                              "--write", work)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(work, "learning.md"),
                      encoding="utf-8") as file:
                page = file.read()
            self.assertTrue(done.stdout.endswith(page + "\n"))
            for name in "learning-language.svg", "learning-tasks.svg":
                xml.etree.ElementTree.parse(os.path.join(work, name))
            again = self.learn(work, "language", "mnli", "squad-1.1")
            self.assertNotIn("...", again.stdout)
            # What a run of other options left unfinished is no run of these.
            failed = self.learn(work, "language", more=["--lr", "x"])
            self.assertEqual(failed.returncode, 1)
            again = self.learn(work, "language")
            self.assertIn("... language", again.stdout)
        cells = {cell.strip() for cell in page.replace("\n", "|").split("|")}
        self.assertLess({"mnli", "squad-1.1", "33.3 %", "epoch 2"}, cells)
        self.assertIn("from the bound", page)

    def test_an_unknown_part_is_refused(self):
        done = self.learn("/nowhere", "chess")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no part 'chess' (language, mnli,", done.stderr)


unittest.main()
