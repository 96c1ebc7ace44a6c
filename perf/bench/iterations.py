"""Published iterations: rows of a CSV file, their predictions, and the page."""

import csv
import dataclasses
import json
import os
import re
import statistics
import tempfile

from bench import programs, report, sleeping
from bench.ours import Failure

GIB = 2**30
RESOURCE = 6  # the exit code of a job that needs more memory than there is
DEVICE = "GiB on a device, and|GiB of a device of"  # of a refusal
# Sets of rows, in the order of the page.
SETS = (
    "2019",
    "2019 more",
    "V1.0",
    "2020-09",
    "2021",
    "2022",
    "vTrain",
    "ZB",
    "ZB-I",
    "ZB-1p",
    "ZB-2p",
    "ZB-2p sync",
)
_EPOCH = (
    "days of training over 68,507 iterations, so validation, data and "
    "checkpoints, too ([below](#days-of-an-epoch))"
)
_PASSES = (
    "the source's iterations take longer than the passes of its own profile "
    "([below](#passes-of-arxiv-240110241))"
)
_MESSAGES = _PASSES + "; the gain over 1F1B is smaller than its bubbles promise"
# Why rows miss: set, model and micro batch, and the reason.
REASONS = {
    ("2019 more", "355M", 8): _EPOCH,
    ("2019 more", "2.5B", 8): _EPOCH,
    ("2019 more", "8.3B 24 heads", 8): _EPOCH,
    ("2019 more", "8.3B after B", 8): "the README gives a share of linear "
    "scaling, and not the rate on one GPU that it counts from",
    ("vTrain", "3.6B", 64): "twice the published time of half the micro batch, of "
    "equal work: no term says why",
    ("ZB-I", "1.5B", 6): _MESSAGES,
    ("ZB-I", "14.6B", 1): _MESSAGES,
    ("ZB-1p", "1.5B", 6): _PASSES,
    ("ZB-2p sync", "1.5B", 6): _PASSES,
}
NAMES = {
    "tensor": "tensor-model-parallel-size",
    "pipeline": "pipeline-model-parallel-size",
    "virtual": "num-virtual-stages-per-pipeline-rank",
    "layers": "num-layers",
    "hidden": "hidden-size",
    "heads": "num-attention-heads",
    "sequence": "seq-length",
    "vocabulary": "vocab-size",
    "micro_batch": "micro-batch-size",
    "global_batch": "global-batch-size",
}


@dataclasses.dataclass
class Row:
    """A published iteration: fields of the file, numbers as numbers."""

    fields: dict
    predicted: float = None  # seconds
    memory: float = None  # bytes of the fullest device
    room: float = None  # bytes that a device has

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None

    def job(self):
        """Tensor x pipeline x data, and the micro batch of the global batch."""
        v = f" v{self.virtual}" if self.virtual > 1 else ""
        return (
            f"{self.tensor} x {self.pipeline}{v} x {self.data}, "
            f"{self.micro_batch} of {self.global_batch}"
        )

    def error(self):
        """Predicted over published, in %."""
        return 100 * (self.predicted / self.seconds - 1)

    def reason(self):
        return REASONS.get((self.set, self.model, self.micro_batch))


def read(path):
    """The rows of the file."""
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    rows = []
    for fields in csv.DictReader(lines):
        for name in (*NAMES, "data"):
            fields[name] = int(fields[name])
        fields["seconds"] = float(fields["seconds"])
        rows.append(Row(fields))
    return rows


def options(row):
    """Of mtlm-dag, without cluster and code."""
    words = ["--fp16", "--lr", "1e-4", "--train-iters", "1"]
    words += ["--ignore-memory"]
    words += ["--world-size", str(row.tensor * row.pipeline * row.data)]
    for name, option in NAMES.items():
        if name != "virtual" or row.virtual > 1:
            words += [f"--{option}", str(row.fields[name])]
    words += ["--recompute-granularity", row.recompute]
    if row.recompute == "full":
        words += ["--recompute-method", "uniform", "--recompute-num-layers", "1"]
    if row.sequence_parallel == "yes":
        words.append("--sequence-parallel")
    if row.stage_layers:
        words += ["--stage-layers", row.stage_layers]
    if row.schedule:  # which the code of the profile never had
        words += ["--ours", "overlap", "--schedule", row.schedule]
    return words


class TooLarge(Failure):
    """The job needs more memory than a device has."""


def simulate(ours, words, policy=None, limit=None):
    """What --simulate predicts with these options: {seconds, of an iteration;
    memory, bytes of the fullest device; room, bytes of a device; text}.  After
    `limit` seconds: subprocess.TimeoutExpired.  A job that needs more memory
    than a device has: TooLarge."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "metrics.json")
        done = programs.run(
            [ours.path("mtlm-dag"), *words, "--metrics", path],
            sleeping.environment(policy),
            limit,
        )
        if done.returncode == RESOURCE and re.search(DEVICE, done.stderr):
            raise TooLarge(done.stderr.strip())
        if done.returncode:
            raise Failure(done.stderr.strip())
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["simulation"]
        return {
            "seconds": found["iteration_s"],
            "memory": found["memory_bytes"],
            "room": found["memory_limit_bytes"],
            "text": done.stdout,
        }


def predict(ours, words):
    """Seconds of an iteration that --simulate predicts with these options."""
    return simulate(ours, words)["seconds"]


def unfitted(text, efficiency):
    """A cluster file without the numbers that are fitted, but for this
    efficiency."""
    lines = []
    for line in text.splitlines():
        if "; fitted" not in line:
            lines.append(line)
        elif line.startswith("efficiency"):
            lines.append(f"efficiency = {efficiency}")
    return "\n".join(lines) + "\n"


def errors(rows):
    """Mean, median and worst absolute error in %."""
    sizes = [abs(row.error()) for row in rows]
    return statistics.mean(sizes), statistics.median(sizes), max(sizes)


def summary(name, rows):
    """A line of the table of sets."""
    mean, median, worst = errors(rows)
    return (
        name,
        str(len(rows)),
        str(sum(bool(row.fitted) for row in rows)),
        f"{mean:.1f} %",
        f"{median:.1f} %",
        f"{worst:.1f} %",
    )


def summaries(rows):
    table = [("rows", "number", "fitted", "mean error", "median", "worst")]
    for name in SETS:
        found = [row for row in rows if row.set == name]
        if found:
            table.append(summary(name, found))
    bars = [row for row in rows if row.set in ("V1.0", "2021", "2022")]
    if bars:
        table.append(summary("V1.0, 2021, 2022", bars))
    eight = [row for row in rows if row.set == "vTrain" and row.tensor == 8]
    if eight:
        table.append(summary("vTrain, tensor 8", eight))
    return report.table(table)


def details(rows):
    table = [
        (
            "rows",
            "model",
            "tensor x pipeline x data, micro of global batch",
            "published s",
            "predicted s",
            "error",
            "GiB",
            "fitted to it",
        )
    ]
    for row in rows:
        what = row.model
        if row.recompute == "selective":
            what += " selective"
        table.append(
            (
                row.set,
                what,
                row.job(),
                f"{row.seconds:.4g}",
                f"{row.predicted:.4g}",
                f"{row.error():+.1f} %",
                f"{row.memory / GIB:.1f}" if row.memory else "",
                row.fitted,
            )
        )
    return report.table(table)


def misses(rows, most=8):
    """Sentences on rows that miss by more than `most` %."""
    lines = []
    for row in rows:
        if abs(row.error()) > most:
            reason = row.reason() or "no reason is known"
            lines.append(
                f"* {row.set} {row.model}, {row.job()}: {row.error():+.1f} %: "
                f"{reason}."
            )
    return "\n".join(lines) or "None."
