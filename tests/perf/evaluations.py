"""perf/evaluations: made data in the layout of the published sets, and models
that are so small that a run takes a second."""

import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.path.abspath(os.environ.get("srcdir", "."))
sys.path.insert(0, os.path.join(SOURCE, "perf"))
sys.dont_write_bytecode = True

from bench import real_sets  # noqa: E402

BUILD = os.path.abspath(os.environ.get("builddir", "."))
WORDS = "--seq-length", "80", "--workers", "1", "--hidden-dropout", "0"
BERT = "--tokenizer-type", "BertWordPieceLowerCase", "--vocab-file"
SEEDS = "1", "2"
LIMIT_S = 20 * int(os.environ.get("TIME_SCALE", "3"))  # for a hang


def well(*words):
    return subprocess.run(words, check=True, capture_output=True,
                          text=True).stdout


def program(name):
    return os.path.join(BUILD, name)


def pretrain(work, name, text, words, more):
    """A checkpoint after one iteration."""
    well(program("mtlm-preprocess"), "--input", text, "--output-prefix",
         os.path.join(work, name), *words, *more)
    kind = "sentence" if more else "document"
    well(program("mtlm-dag"), "--model", f"{name}-tiny", "--num-layers", "1",
         "--hidden-size", "32", "--seq-length", "96", "--micro-batch-size", "8",
         "--global-batch-size", "8", "--train-iters", "1", "--lr", "1e-3",
         "--eval-iters", "0", "--split", "100,0,0", "--data-path",
         os.path.join(work, f"{name}_text_{kind}"), *words, "--save",
         os.path.join(work, name + ".saved"), "--no-save-optim")


def lay_out(data):
    """What perf/tasks made, as the sets are published."""
    matched = os.path.join(data, "MNLI", "dev_matched.tsv")
    shutil.copy(matched, matched.replace("matched", "mismatched"))
    for part, source in ("train", "train"), ("dev", "dev"), ("test", "train"):
        for level in "middle", "high":
            if (part, level) not in (("train", "middle"), ("dev", "middle")):
                shutil.copytree(os.path.join(data, "RACE", source, "middle"),
                                os.path.join(data, "RACE", part, level))
    with open(os.path.join(data, "stories.txt"), encoding="ascii") as file:
        stories = [" ".join(story.split())[:70]
                   for story in file.read().split("\f")[:4]]
    os.mkdir(os.path.join(data, "wikitext-103"))
    for path, lines in (
            ("wikitext-103/wiki.test.tokens", stories),
            ("lambada_test.jsonl", [json.dumps({"text": s}) for s in stories])):
        with open(os.path.join(data, path), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")


def rows(text):
    """{(task, score): the other cells}"""
    lines = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in text.split("\n") if re.match(r"\| (?!task|-)", line)]
    return {(task, score): cells for task, score, *cells in lines}


class Script(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.work = folder.name
        cls.data, cls.runs = cls.path("data"), cls.path("runs")
        well(sys.executable, os.path.join(SOURCE, "perf", "tasks"), cls.data,
             "--train", "64", "--dev", "18")
        lay_out(cls.data)
        pretrain(cls.work, "bert", cls.path("data", "stories.txt"),
                 [*BERT, cls.path("data", "vocab.txt")], ["--split-sentences"])
        pretrain(cls.work, "gpt", cls.path("data", "language", "train.txt"),
                 ["--tokenizer-type", "byte"], [])
        cls.gpt = "--gpt", cls.path("gpt.saved")
        cls.bert = "--bert", cls.path("bert.saved")
        cls.first = cls.run_script(*cls.gpt, *cls.bert, "--write", cls.work)

    @classmethod
    def path(cls, *parts):
        return os.path.join(cls.work, *parts)

    @classmethod
    def command(cls, *words, data=None, runs=None, more=()):
        return [os.path.join(SOURCE, "perf", "evaluations"), data or cls.data,
                "--build", BUILD, "--runs", runs or cls.runs, "--seeds",
                ",".join(SEEDS), *words, "--", *WORDS, *more]

    @classmethod
    def run_script(cls, *words, **more):
        return subprocess.run(cls.command(*words, **more), capture_output=True,
                              text=True, check=False)

    def read(self, pattern, runs=None):
        path, = glob.glob(os.path.join(runs or self.runs, pattern))
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_a_page_with_a_row_of_each_score(self):
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        with open(self.path("evaluations.md"), encoding="utf-8") as file:
            page = file.read()
        self.assertTrue(self.first.stdout.endswith(page + "\n"))
        self.assertNotIn("Not measured", page)
        self.assertEqual(len(rows(page)), 13)
        for task, score in (
                ("mnli", "accuracy"), ("qqp", "accuracy"), ("race", "all"),
                ("squad-1.1", "F1"), ("squad-2.0", "exact match")):
            found = {key: cells for key, cells in rows(page).items()
                     if key[0] == task}
            best = []
            for seed in SEEDS:
                text = self.read(f"{task}-*.saved/seed-{seed}/best.json")
                best.append({score["name"]: score["value"]
                             for score in json.loads(text)["scores"]})
            name, = [n for n in best[0] if score in n and "mismatched" not in n
                     and (score != "accuracy" or "all" not in n)]
            values = [one[name] for one in best]
            key = {"mnli": "matched, %", "qqp": "accuracy, %",
                   "race": "dev, %"}.get(task, score)
            self.assertEqual(
                found[task, key][:3],
                [f"{statistics.median(values):.2f}", f"{min(values):.2f}",
                 f"{max(values):.2f}"])

    def test_the_numbers_beside_are_those_of_help(self):
        """Puts the words of --help together from the cells."""
        found = rows(self.first.stdout)
        titles = [line for line in self.first.stdout.split("\n")
                  if line.startswith("| task")]
        sizes = [re.findall(r"paper, (\S+)", title) for title in titles]
        self.assertEqual(sizes, [["355M", "2.5B", "8.3B"],
                                 ["336M", "1.3B", "3.9B"]])
        for task, form, *scores in (
                ("wikitext103", "{} {}", "adjusted ppl"),
                ("lambada", "{} {} %", "accuracy, %"),
                ("mnli", "{} {} / {} %", "matched, %", "mismatched, %"),
                ("qqp", "{} {} %", "accuracy, %"),
                ("race", "{} {} ({} / {}) %", "test, %", "test, middle, %",
                 "test, high, %"),
                ("squad-1.1", "{} {} / {}", "F1", "exact match"),
                ("squad-2.0", "{} {} / {}", "F1", "exact match")):
            name, _, version = task.partition("-")
            said = well(program("mtlm-dag"), "--help", "--task", name)
            said = said[said.index("Published:"):]
            if version:
                said, = re.findall(f"SQuAD {version}: .*", said)
            of = sizes[task not in ("wikitext103", "lambada")]
            cells = [found[task, score][-3:] for score in scores]
            for i, size in enumerate(of):
                self.assertIn(form.format(size, *(c[i] for c in cells)), said)

    def test_race_is_measured_on_test_by_the_run_in_the_middle_on_dev(self):
        dev, test = [], []
        for seed in SEEDS:
            dev.append(float(re.search(
                rf"  seed {seed}, .*all: accuracy ([\d.]+)",
                self.read("race-????????.log"))[1]))
            text = self.read(f"race-*-test-*-{seed}.log")
            # 2 x 64 questions: right answers of both parts, summed up.
            right = [int(n) for n in re.findall(r"\((\d+) of \d+\)", text)]
            self.assertEqual(right[2], right[0] + right[1])
            self.assertIn(f"{100 * right[2] / 128:.2f} % ({right[2]} of 128)",
                          text)
            self.assertIn("RACE/test/high: accuracy", text)
            test.append(f"{100 * right[2] / 128:.2f}")
        cells = rows(self.first.stdout)["race", "test, %"]
        self.assertEqual(cells[0], test[dev.index(min(dev))])  # of two
        self.assertEqual(cells[1:3], sorted(test, key=float))

    def test_again_repeats_nothing_and_what_is_missing_is_named(self):
        again = self.run_script(*self.gpt, *self.bert, "--ranks", "2")
        self.assertNotIn("...", again.stdout)
        self.assertEqual(rows(again.stdout), rows(self.first.stdout))
        with tempfile.TemporaryDirectory() as other:
            for name in "MNLI", "RACE":
                shutil.copytree(os.path.join(self.data, name),
                                os.path.join(other, name))
            shutil.rmtree(os.path.join(other, "RACE", "test", "high"))
            os.remove(os.path.join(other, "MNLI", "train.tsv"))
            done = self.run_script("mnli", "race", "lambada", *self.bert,
                                   "--seeds", "1", data=other,
                                   runs=os.path.join(other, "runs"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for sentence in (
                f"mnli: there is no {other}/MNLI/train.tsv.",
                f"race: there is no {other}/RACE/test/high, and the papers' "
                "numbers are of test.", "lambada: no model, give --gpt DIR."):
            self.assertIn(sentence + "\n", done.stdout)
            self.assertIn(f"* {sentence}\n", done.stdout)
        self.assertEqual(list(rows(done.stdout)), [("race", "dev, %")])

    def test_more_seeds_train_no_seed_again_and_other_options_do(self):
        runs = self.path("more")

        def train(seeds, more=()):
            """What the newest run prints."""
            done = self.run_script("qqp", *self.bert, "--seeds", seeds,
                                   runs=runs, more=["--epochs", "2", *more])
            self.assertEqual(done.returncode, 0, done.stderr)
            logs = glob.glob(os.path.join(runs, "*.log"))
            return done.stdout, self.read(max(logs, key=os.path.getmtime), runs)

        begin = "bert.saved/iter_0000001, its weights"
        self.assertEqual(train("1")[1].count(begin), 1)
        printed, log = train("1,2")
        self.assertIn("... qqp-", printed)
        self.assertEqual(log.count(begin), 1)  # of seed 2
        self.assertEqual(train("1,2", ["--lr", "1e-4"])[1].count(begin), 2)
        self.assertNotIn("...", train("1,2")[0])

    def test_a_run_that_was_stopped_goes_on(self):
        runs = self.path("stopped")
        command = self.command("qqp", *self.bert, runs=runs,
                               more=["--epochs", "100000"])

        def stop(sign):
            """Once there is a sign of the run."""
            script = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
            end = time.monotonic() + LIMIT_S
            while not sign() and time.monotonic() < end:
                time.sleep(0.05)
            script.send_signal(signal.SIGTERM)
            _, said = script.communicate(timeout=LIMIT_S)
            self.assertEqual(script.returncode, 1)
            self.assertEqual(re.sub("-[0-9a-f]{8}", "", said), "evaluations: "
                             "qqp: stopped by a signal; the same command goes "
                             "on\n")

        def goes_on():
            return ", all of it;" in self.read("qqp-*.log", runs)
        saved = os.path.join(runs, "qqp-*.saved", "seed-1", "iter_*")
        stop(lambda: glob.glob(saved))
        stop(goes_on)
        self.assertTrue(goes_on())

    def test_a_model_of_another_architecture_stops_no_other_part(self):
        done = self.run_script("lambada", "qqp", "--gpt", self.bert[1],
                               *self.bert)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(
            done.stdout, r"\* lambada-\w+: --task lambada is for a GPT; this "
            rf"model is a BERT; see {self.runs}/.*\.log\.\n")
        self.assertIn(("qqp", "accuracy, %"), rows(done.stdout))

    def test_wrong_words_are_one_sentence(self):
        text = self.path("data", "vocab.txt")
        for words, said in (
                (["chess", *self.bert], "no part 'chess' (wikitext103,"),
                ([], "no model to measure: give --gpt DIR or --bert DIR"),
                (["--gpt", text], f"'{text}' is no directory"),
                (["--gpt", self.data], f"'{self.data}' has no checkpoint"),
                (["--bert", "/nowhere"], "'/nowhere' is not there"),
                ([*self.bert, "--seeds", "1;2"], "'1;2' is no list such as"),
                ([*self.bert, "--bert-vocab-file", "/"], "'/' is no file"),
                ([*self.bert, "--ranks", "0"], "'0' is no number of ranks")):
            done = self.run_script(*words)
            self.assertEqual(done.returncode, 2, said)
            self.assertIn(said, done.stderr)

    def test_a_folder_without_sets_replaces_no_page(self):
        empty = self.path("empty")
        os.mkdir(empty)
        page = os.path.join(empty, "evaluations.md")
        with open(page, "w", encoding="ascii") as file:
            file.write("old")
        done = self.run_script("qqp", *self.bert, "--write", empty, data=empty)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "evaluations: nothing was measured\n")
        with open(page, encoding="ascii") as file:
            self.assertEqual(file.read(), "old")


class Models(unittest.TestCase):
    def test_the_newest_checkpoint_counts(self):
        """One that was saved again is older than the next iteration."""
        with tempfile.TemporaryDirectory() as model:
            for name in ("iter_0000020", "iter_0000020.1", "iter_0000030",
                         "iter_0000040.tmp"):
                os.mkdir(os.path.join(model, name))
                with open(os.path.join(model, name, "manifest.json"), "w",
                          encoding="ascii"):
                    pass
            found = []
            for _ in range(3):
                path = real_sets.manifest(model)
                found.append(os.path.basename(os.path.dirname(path)))
                os.remove(path)
            self.assertEqual(found, ["iter_0000030", "iter_0000020.1",
                                     "iter_0000020"])
            self.assertIsNone(real_sets.manifest(model))


unittest.main()
