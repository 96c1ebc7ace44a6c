"""Evaluates models on published data sets, with the recipes of --help."""

import glob
import hashlib
import os
import re
from typing import NamedTuple

from bench import kept_runs, recipes
from bench.ours import Failure, Ours

DATA = "--train-data", "--valid-data"
WORDS = "--tokenizer-type", "--vocab-file"  # the checkpoint knows them, too
MEDIAN = re.compile(
    r"^  (\S.*): median ([\d.]+)(?: %)?, least ([\d.]+)(?: %)?, "
    r"greatest ([\d.]+)", re.M)
DEV = re.compile(
    r"^  seed (\d+), epoch \d+: .*\ball: accuracy ([\d.]+) %", re.M)
TEST = re.compile(r"(\w+): accuracy ([\d.]+) %")


class Part(NamedTuple):
    """scores: in the order of the papers' numbers, {name in the table: name in
    mtlm-dag's output}; of a task without training a regular expression."""
    task: str
    family: str  # of the model
    scores: dict
    section: str = ""  # of the papers' numbers
    version: str = ""  # replaces that in names of files

    def file(self, name):
        """The name of a data file, from that of the recipe."""
        return re.sub(r"v\d\.\d", self.version, name) if self.version else name


SQUAD = {"F1": "F1", "exact match": "exact match"}
PARTS = {
    "wikitext103": Part("wikitext103", "gpt",
                        {"adjusted ppl": r"adjusted ppl (\S+)"}),
    "lambada": Part("lambada", "gpt", {"accuracy, %": r"accuracy ([\d.]+) %"}),
    "mnli": Part("mnli", "bert",
                 {"matched, %": "dev_matched.tsv: accuracy",
                  "mismatched, %": "dev_mismatched.tsv: accuracy"}),
    "qqp": Part("qqp", "bert", {"accuracy, %": "dev.tsv: accuracy"}),
    "race": Part("race", "bert",
                 {"test, %": "all", "test, middle, %": "middle",
                  "test, high, %": "high"}),
    "squad-1.1": Part("squad", "bert", SQUAD, "SQuAD 1.1", "v1.1"),
    "squad-2.0": Part("squad", "bert", SQUAD, "SQuAD 2.0", "v2.0"),
}


class Row(NamedTuple):
    part: str
    score: str
    measured: list  # a number, or median, least and greatest
    published: dict  # {size of the model: number}


def _age(manifest_path):
    """(iteration, how often it was saved before), or None of a save that has
    not ended.  A folder is iter_0000020, or iter_0000020.1 where one was."""
    name = os.path.basename(os.path.dirname(manifest_path))
    found = re.fullmatch(r"iter_(\d+)(?:\.(\d+))?", name)
    return found and (int(found[1]), int(found[2] or 0))


def manifest(model):
    """The newest one of a folder of checkpoints, or None."""
    found = glob.glob(os.path.join(glob.escape(model), "iter_*",
                                   "manifest.json"))
    return max(filter(_age, found), key=_age, default=None)


def stamp(model):
    """Tells the weights from others: a manifest has their hashes."""
    with open(manifest(model), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def state(path):
    """Tells a changed file, or a folder with a changed one, from the former."""
    files = [path]
    if os.path.isdir(path):
        files = sorted(entry.path for entry in os.scandir(path))
    found = [os.stat(file) for file in files]
    return str([(one.st_size, one.st_mtime_ns) for one in found])


class Evaluation:
    """options: build, data, runs (folders), model {family: folder or None},
    vocabulary {family: words}, seeds, launcher (words before mtlm-dag), more
    (words that come last)."""

    def __init__(self, options):
        self.options = options
        self.program = Ours(options.build).path("mtlm-dag")
        self.recipes = {}
        os.makedirs(options.runs, exist_ok=True)

    def recipe(self, name):
        task = PARTS[name].task
        if task not in self.recipes:
            self.recipes[task] = recipes.read(self.program, task)
        return self.recipes[task]

    def data(self, name, option, old="", new=""):
        """The paths of an option of the recipe, where new replaces old."""
        return [os.path.join(self.options.data,
                             PARTS[name].file(value).replace(old, new))
                for value in self.recipe(name).options.get(option, [])]

    def missing(self, name):
        return [path for option in DATA for path in self.data(name, option)
                if not os.path.exists(path)]

    def test_of_race(self):
        """The papers' numbers are of these questions.  The recipe has the
        paths of those that choose the best epoch."""
        return self.data("race", "--valid-data", "/dev/", "/test/")

    def untested(self):
        return [p for p in self.test_of_race() if not os.path.exists(p)]

    def words(self, name, options):
        words = [w for key, values in options.items() for w in (key, *values)]
        family = PARTS[name].family
        return [*words, *self.options.vocabulary[family], *self.options.more]

    def run_name(self, name, options):
        """Runs with other options, weights or data have other names.  The
        launcher changes no result."""
        model = stamp(self.options.model[PARTS[name].family])
        data = [state(path) for option in DATA
                for path in options.get(option, [])]
        about = "\n".join([*self.words(name, options), model, *data])
        return f"{name}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"

    def path(self, run):
        return os.path.join(self.options.runs, run)

    def run(self, run, name, options):
        """What mtlm-dag prints.  A changed program begins no run anew: it would
        go on with the former's checkpoints, or repeat days of training."""
        words = self.words(name, options)
        return kept_runs.run(self.path(run), [*self.options.launcher,
                                              self.program, *words], words)

    def need(self, run, found):
        """Returns found.  Without it the run ended early, and the same words
        continue it."""
        if not found:
            kept_runs.begin(self.path(run))
            raise kept_runs.Stopped(f"{run}: ended early")
        return found

    def row(self, name, index, measured):
        part = PARTS[name]
        sizes = self.recipe(name).published.get(part.section, {})
        if not sizes or any(len(n) <= index for n in sizes.values()):
            raise Failure(f"{name}: --help has no number of a paper")
        return Row(name, list(part.scores)[index], measured,
                   {size: numbers[index] for size, numbers in sizes.items()})

    def evaluate(self, name):
        """Rows of a task without training."""
        options = {
            **self.recipe(name).options,
            "--load": [self.options.model["gpt"]],
            "--valid-data": self.data(name, "--valid-data")}
        run = self.run_name(name, options)
        text = self.run(run, name, options)
        line = self.need(run, re.search(rf"^{name}: .*", text, re.M))
        return [self.row(name, i, [re.search(pattern, line[0])[1]])
                for i, pattern in enumerate(PARTS[name].scores.values())]

    def saved(self, run):
        return self.path(run) + ".saved"

    def tune(self, name):
        """The name of a fine-tuning with all seeds, and what it prints.  The
        name does not depend on the seeds: none of them is trained again."""
        options = {**self.recipe(name).options}
        for option in *WORDS, "--predictions", "--save":
            options.pop(option, None)
        options.update({option: self.data(name, option) for option in DATA})
        options["--pretrained-checkpoint"] = [self.options.model["bert"]]
        run = self.run_name(name, options)
        return run, self.run(run, name, {
            **options, "--save": [self.saved(run)], "--keep-last": ["2"],
            "--seeds": [self.options.seeds]})

    def medians(self, run, text):
        """{score: median, least and greatest}"""
        return self.need(run, {title.split("/")[-1]: values
                               for title, *values in MEDIAN.findall(text)})

    def finetune(self, name):
        """Rows of a task with training."""
        found = self.medians(*self.tune(name))
        return [self.row(name, i, found[score])
                for i, score in enumerate(PARTS[name].scores.values())]

    def test(self, tuned, seed):
        """{all, middle, high: accuracy} of the best epoch of a seed."""
        data = "".join(state(path) for path in self.test_of_race())
        run = (f"{tuned}-test-{hashlib.sha256(data.encode()).hexdigest()[:8]}-"
               f"{seed}")
        text = self.run(run, "race", {
            "--task": ["race"], "--load-best": [], "--eval-only": [],
            "--load": [os.path.join(self.saved(tuned), f"seed-{seed}")],
            "--valid-data": self.test_of_race()})
        line = self.need(run, re.search("^race: .*", text, re.M))
        return dict(TEST.findall(line[0]))

    def race(self):
        """As the papers: of the run in the middle on dev the accuracy on test.
        Least and greatest are of all runs."""
        run, text = self.tune("race")
        rows = [Row("race", "dev, %", self.medians(run, text)["all: accuracy"],
                    {})]
        if self.untested():
            return rows
        seeds = sorted(DEV.findall(text), key=lambda one: float(one[1]))
        tests = [self.test(run, seed) for seed, _ in seeds]
        for i, score in enumerate(PARTS["race"].scores.values()):
            values = [test[score] for test in tests]
            rows.append(self.row("race", i, [values[(len(values) - 1) // 2],
                                             min(values, key=float),
                                             max(values, key=float)]))
        return rows

    def measure(self, name):
        if PARTS[name].family == "gpt":
            return self.evaluate(name)
        return self.race() if name == "race" else self.finetune(name)
