"""perf/learning: runs so small that they take a second."""

import glob
import os
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")

# Counts its runs, in a file beside it.  --save must not be there yet.
TRAINER = """#!/bin/sh
echo run >>"$0.runs"
while [ $# -gt 0 ]; do
    case $1 in
    --metrics)
        echo '{"iteration": 1, "validation": {"lm_loss": 2.5}}' >"$2" ;;
    --save)
        mkdir "$2" || exit 2 ;;
    esac
    shift
done
echo "mnli: accuracy 40.0 %"
echo "epoch 1 of 1: accuracy 50.0 %"
"""


class Script(unittest.TestCase):
    def learn(self, work, *words, more=(), programs=build, tree=source):
        return subprocess.run(
            [os.path.join(tree, "perf", "learning"), "--build", programs,
             "--runs", os.path.join(work, "runs"), "--questions", "200",
             "--iterations", "20", "--pretraining", "20", "--epochs", "2",
             *words, "--", "--num-layers", "1", "--hidden-size", "32", *more],
            capture_output=True, text=True, check=False)

    def test_a_page_with_curves(self):
        with tempfile.TemporaryDirectory() as work:
            done = self.learn(work, "language", "mnli", "squad-1.1",
                              "--write", work)
            self.assertEqual(done.returncode, 0, done.stderr)
            # A page of all parts would have the name learning.md.
            with open(os.path.join(work, "learning-part.md"),
                      encoding="utf-8") as file:
                page = file.read()
            self.assertTrue(done.stdout.endswith(page + "\n"))
            for name in "learning-part-language.svg", "learning-part-tasks.svg":
                self.assertIn(f"({name})", page)
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

    def make_programs(self, work):
        """The paths of two programs that do nothing but say so."""
        trainer = os.path.join(work, "mtlm-dag")
        tokens = os.path.join(work, "mtlm-preprocess")
        for path, text in (trainer, TRAINER), (tokens, "#!/bin/sh\n"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o700)
        return trainer, tokens

    def test_another_pretraining_is_followed_by_other_runs_of_a_task(self):
        """The language does not begin anew, nor a pretraining of before."""
        tasks = "mnli-untrained", "mnli"
        with tempfile.TemporaryDirectory() as work:
            self.make_programs(work)
            for number, begun in (
                    ("20", ["language", "stories-20", *tasks]),
                    ("40", ["stories-40", *tasks]), ("40", []),
                    ("20", list(tasks))):
                done = self.learn(work, "language", "mnli", "--pretraining",
                                  number, programs=work)
                self.assertEqual(done.returncode, 0, done.stderr)
                said = [line[4:] for line in done.stdout.split("\n")
                        if line.startswith("... ")]
                self.assertEqual(
                    [name for name in said
                     if name in tasks
                     or name.startswith(("language", "stories"))],
                    begun)

    def test_changed_programs_take_nothing_of_the_programs_before(self):
        """The four trainings begin anew, with a new folder of --save."""
        with tempfile.TemporaryDirectory() as work:
            trainer, tokens = self.make_programs(work)
            for changed, runs in (None, 4), (None, 4), (trainer, 8), (tokens, 12):
                if changed:
                    with open(changed, "a", encoding="utf-8") as file:
                        file.write("# changed\n")
                done = self.learn(work, "language", "mnli", programs=work)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(trainer + ".runs", encoding="utf-8") as file:
                    self.assertEqual(len(file.readlines()), runs)

    def copy_scripts(self, tree):
        """What makes the data, and perf/learning, to be changed."""
        os.makedirs(os.path.join(tree, "perf", "bench"))
        modules = glob.glob(os.path.join(source, "perf", "bench", "*.py"))
        for name in ("learning", "tasks",
                     *(f"bench/{os.path.basename(m)}" for m in modules)):
            path = os.path.join(tree, "perf", name)
            shutil.copyfile(os.path.join(source, "perf", name), path)
            os.chmod(path, 0o700)

    def test_changed_data_take_nothing_of_the_data_before(self):
        """The four trainings begin anew."""
        with tempfile.TemporaryDirectory() as work:
            trainer, _ = self.make_programs(work)
            self.copy_scripts(work)
            for changed, runs in ((None, 4), (None, 4), ("tasks", 8),
                                  ("bench/made_tasks.py", 12),
                                  ("bench/made_language.py", 16),
                                  ("bench/report.py", 16)):
                if changed:
                    with open(os.path.join(work, "perf", changed), "a",
                              encoding="utf-8") as file:
                        file.write("# changed\n")
                done = self.learn(work, "language", "mnli", programs=work,
                                  tree=work)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(trainer + ".runs", encoding="utf-8") as file:
                    self.assertEqual(len(file.readlines()), runs, changed)

    def test_an_unknown_part_is_refused(self):
        done = self.learn("/nowhere", "chess")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no part 'chess' (language, mnli,", done.stderr)


unittest.main()
