"""perf/tasks: the answers of its data sets follow from their texts, classes are
balanced, models/task reads the files, and the language has the entropy that it
is said to have."""

import collections
import csv
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.environ.get("srcdir", "."))
TOOL = os.path.join(os.path.abspath(os.environ.get("builddir", ".")),
                    "tests/models/task_tool")
if not os.path.exists(TOOL):
    print("skipped: no tests/models/task_tool, for which configure wants cmocka")
    sys.exit(77)
FACT = re.compile(r"(\w+) has the (\w+) (\w+)(?: in the (\w+))?\.")


def same_thing():
    sys.path.insert(0, os.path.join(SOURCE, "perf"))
    from bench import made_tasks
    return {word: pair[0] for pair in made_tasks.THINGS for word in pair}


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t",
                                   quoting=csv.QUOTE_NONE))


class Tasks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.work.cleanup)
        cls.things = same_thing()
        cls.folder = cls.work.name
        cls.said = cls.run_tasks(cls.folder).stdout

    @classmethod
    def run_tasks(cls, folder, *words):
        return subprocess.run(
            [sys.executable, os.path.join(SOURCE, "perf", "tasks"), folder,
             "--train", "600", "--dev", "300", *words], check=True,
            capture_output=True, text=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def facts(self, text):
        """Name: colour, thing, place."""
        return {n: (c, self.things[t], p) for n, c, t, p in FACT.findall(text)}

    def read(self, task, count, *paths):
        """The lines of the samples and of the data."""
        done = subprocess.run(
            [TOOL, "samples", task, self.path("vocab.txt"), "lower", "128",
             "valid", "1", str(count), "1000", *paths], check=True,
            capture_output=True, text=True)
        *samples, about = map(json.loads, done.stdout.splitlines())
        with open(self.path("vocab.txt"), encoding="utf-8") as file:
            unknown = file.read().split("\n").index("[UNK]")
        for sample in samples:
            self.assertNotIn(unknown, sample["tokens"])
        return samples, about

    def balanced(self, labels, n):
        count = collections.Counter(labels)
        self.assertEqual(len(count), n)
        for share in count.values():
            self.assertAlmostEqual(share / len(labels), 1 / n, delta=0.08)

    def test_classes_of_mnli_follow_from_the_premise(self):
        path = self.path("MNLI", "train.tsv")
        labels = []
        for row in rows(path):
            premise = self.facts(row["sentence1"])
            (name, (colour, thing, _)), = self.facts(row["sentence2"]).items()
            labels.append("neutral" if name not in premise else "entailment"
                          if premise[name][:2] == (colour, thing)
                          else "contradiction")
            self.assertEqual(row["gold_label"], labels[-1])
        self.balanced(labels, 3)
        names = "contradiction", "entailment", "neutral"
        samples, about = self.read("mnli", len(labels), path)
        self.assertEqual([names[s["class"][0]] for s in samples], labels)
        self.assertEqual(about["items"], 600)
        self.assertEqual(len(rows(self.path("MNLI", "dev_matched.tsv"))), 300)

    def test_questions_of_qqp_mean_the_same_or_not(self):
        path = self.path("QQP", "train.tsv")
        labels = []
        for row in rows(path):
            meant = [(a, b, self.things[c]) for a, b, c in (
                re.fullmatch(r"Does (\w+) have the (\w+) (\w+)\?",
                             row[q]).groups()
                for q in ("question1", "question2"))]
            labels.append(str(int(meant[0] == meant[1])))
            self.assertEqual(row["is_duplicate"], labels[-1])
        self.balanced(labels, 2)
        self.read("qqp", 600, path)

    def test_answers_of_race_are_in_the_article(self):
        answers = []
        for path in glob.glob(self.path("RACE", "train", "middle", "*.txt")):
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            world = self.facts(data["article"])
            for question, options, answer in zip(
                    data["questions"], data["options"], data["answers"]):
                name, = [n for n in world if n in question]
                colours = [o.split()[-2 if " " in o else 0] for o in options]
                self.assertEqual(len(set(colours)), 4)
                self.assertEqual(colours.index(world[name][0]),
                                 "ABCD".index(answer))
                answers.append(answer)
        self.balanced(answers, 4)
        _, about = self.read("race", 2400, self.path("RACE", "train", "middle"))
        self.assertEqual(about["items"], 600)

    def test_answers_of_squad_stand_in_the_context(self):
        for version, share in ("1.1", 0), ("2.0", 1 / 3):
            path = self.path("SQuAD", f"train-v{version}.json")
            with open(path, encoding="utf-8") as file:
                data = json.load(file)["data"]
            none = asked = 0
            for paragraph in (p for d in data for p in d["paragraphs"]):
                context = paragraph["context"]
                world = self.facts(context)
                for qa in paragraph["qas"]:
                    name = re.search(r"(?:does|is) (\w+)",
                                     qa["question"]).group(1)
                    asked += 1
                    none += not qa["answers"]
                    self.assertEqual(name in world, bool(qa["answers"]))
                    for answer in qa["answers"]:
                        start, text = answer["answer_start"], answer["text"]
                        self.assertTrue(context[start:].startswith(text))
                        begin = context.index(name)
                        fact = context[begin:context.index(".", begin)]
                        self.assertTrue(begin < start < begin + len(fact))
                        self.assertEqual(text in fact.split(),
                                         "Where" in qa["question"])
            self.assertAlmostEqual(none / asked, share, delta=0.08)
            samples, about = self.read("squad", asked, path)
            self.assertEqual(about["items"], asked)
            self.assertEqual(sum(s["start"] == [0] for s in samples), none)

    def test_no_question_to_measure_with_is_one_to_learn_from(self):
        def pairs(*parts):
            return {tuple(row[c] for c in ("sentence1", "sentence2", "question1",
                                           "question2") if c in row)
                    for row in rows(self.path(*parts))}

        def asked(part):
            found = set()
            for version in "1.1", "2.0":
                with open(self.path("SQuAD", f"{part}-v{version}.json"),
                          encoding="utf-8") as file:
                    found |= {(version, p["context"], q["question"])
                              for d in json.load(file)["data"]
                              for p in d["paragraphs"] for q in p["qas"]}
            for path in glob.glob(self.path("RACE", part, "middle", "*.txt")):
                with open(path, encoding="utf-8") as file:
                    data = json.load(file)
                found |= {(data["article"], q) for q in data["questions"]}
            return found
        for learned, measured in (
                (pairs("MNLI", "train.tsv"), pairs("MNLI", "dev_matched.tsv")),
                (pairs("QQP", "train.tsv"), pairs("QQP", "dev.tsv")),
                (asked("train"), asked("dev"))):
            self.assertGreater(len(measured), 200)
            self.assertFalse(learned & measured)

    def test_the_language_has_its_entropy(self):
        with open(self.path("language", "train.txt"), encoding="ascii") as file:
            text = file.read()
        with open(self.path("language", "bounds.json"),
                  encoding="ascii") as file:
            bounds = json.load(file)
        self.assertEqual(len(text), 600 * 200)
        self.assertNotIn("\n\n", text)

        def measured(n):
            """The entropy of a letter after n others, as often as they are."""
            ends = collections.Counter(zip(*(text[i:] for i in range(n + 1))))
            begins = collections.Counter(zip(*(text[i:] for i in range(n)))) \
                if n else {(): len(text)}
            return -sum(k / len(text) * math.log(k / begins[end[:-1]])
                        for end, k in ends.items())
        for n, name in enumerate(("none", "one", "all")):
            self.assertAlmostEqual(measured(n), bounds[name], delta=0.01)
        self.assertLess(bounds["all"] + 0.3, bounds["one"])
        least = (bounds["one"] + 255 * bounds["all"]) / 256
        self.assertIn(f"the least loss is {least:.4f} in samples of 256",
                      self.said)

    def test_the_seed_decides(self):
        def content(folder):
            read = {}
            for path in glob.glob(folder + "/**/*.*", recursive=True):
                with open(path, "rb") as file:
                    read[os.path.relpath(path, folder)] = file.read()
            return read
        with tempfile.TemporaryDirectory() as again:
            self.run_tasks(again)
            self.assertEqual(content(again), content(self.folder))
            self.run_tasks(again, "--seed", "2")
            changed = content(again)
            self.assertEqual(
                [p for p, text in content(self.folder).items()
                 if changed[p] == text], ["vocab.txt"])

    def test_a_directory_that_cannot_be_written_is_one_sentence(self):
        done = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "perf", "tasks"),
             "/dev/null/x"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("tasks: /dev/null"))


unittest.main()
