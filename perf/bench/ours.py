"""Runs mtlm-dag and its helpers."""

import hashlib
import os
import re
import subprocess
import tempfile

from bench import machine

FIELD = re.compile(r" ([a-z ]+(?:\([a-z]+\))?): +([-+.0-9Einfa]+) \|")


class Failure(Exception):
    """A program did not do what was asked; the text says why."""


def iteration_of(line):
    """{field: value} of a log line of training, or None."""
    if not re.match(r" \[.*\] iteration +\d+/", line):
        return None
    return {name: float(value) for name, value in FIELD.findall(line)}


ENGINE = re.compile(r"communication thread: ([0-9.]+) % of a core")


def engine_of(lines):
    """Share of a core that a run's busiest communication thread took."""
    for line in reversed(lines):
        match = ENGINE.match(line)
        if match:
            return float(match[1]) / 100
    raise Failure("mtlm-dag said nothing of its communication thread")


PREDICTED = re.compile(
    r"^Predicted: ([0-9.]+) ms an iteration(?:.*, with ([0-9.]+) ms per hop)?",
    re.M,
)
MEASURED = re.compile(
    r"^Measured ([0-9.]+) % (slower|faster) than predicted"
    r" \(tasks ([-+0-9.]+) %\)",
    re.M,
)
DRAWN = re.compile(
    r"^Drawn \d+ times from the times of messages: ([0-9.]+) to ([0-9.]+) ms",
    re.M,
)


def prediction_of(text):
    """The comparison that a traced synthetic run prints: {evaluated_ms, hop_ms
    (None: no message between stages), more and late (%: iteration and tasks
    took longer than predicted), drawn_ms (the least and the most with messages
    drawn from the run's; None: not evaluated)}."""
    predicted, measured = PREDICTED.search(text), MEASURED.search(text)
    drawn = DRAWN.search(text)
    if not predicted or not measured:
        raise Failure(f"mtlm-dag did not compare itself:\n{text}")
    sign = -1 if measured[2] == "faster" else 1
    return {
        "evaluated_ms": float(predicted[1]),
        "hop_ms": float(predicted[2]) if predicted[2] else None,
        "more": sign * float(measured[1]),
        "late": float(measured[3]),
        "drawn_ms": [float(x) for x in drawn.groups()] if drawn else None,
    }


def losses_of(fields):
    """The kinds of loss of a log line, LM first."""
    names = [n for n in ("lm loss", "sop loss") if n in fields]
    return [fields[n] for n in names]


def mpirun(ranks):
    """Ranks share all cores, as PyTorch's processes do."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    more = ["--bind-to", "none", "--oversubscribe"]
    return ["mpirun", "-q", "-n", str(ranks), *more, *root]


class Training:
    """A run of mtlm-dag, iteration by iteration."""

    def __init__(self, command, ranks):
        self.ranks, self.process, self.lines = ranks, None, []
        self.errors = tempfile.TemporaryFile("w+")
        self.run = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Of a run that did not come to its end nothing stays, be it suspended
        or not."""
        if self.run.poll() is None and self.ranks > 1:
            self.run.terminate()  # mpirun ends the ranks
        elif self.run.poll() is None:
            self.run.kill()
        self.run.stdout.close()
        self.run.wait()
        self.errors.close()

    def processes(self):
        """Its ranks, which there are from its first line on."""
        if not self.process:
            self.process = machine.Processes(
                machine.children(self.run.pid)
                if self.ranks > 1
                else [self.run.pid]
            )
        return self.process

    def seen(self, read):
        """read(processes()) of ranks that still run; Failure."""
        try:
            return read(self.processes())
        except OSError as error:
            raise Failure(f"a run ended too early: {error}") from error

    def _next(self, found):
        """found(line) of the next line of which that is anything."""
        for line in self.run.stdout:
            if value := found(line):
                return value
            self.lines.append(line.rstrip())
        self._check()
        raise Failure("mtlm-dag ended before it was to")

    def iteration(self):
        """The fields of the next iteration's line, once it is over."""
        return self._next(iteration_of)

    def line(self, text):
        """Waits for the next line that begins so."""
        self._next(lambda line: line.startswith(text))

    def end(self):
        """The lines that are of no iteration."""
        self.lines += [line.rstrip() for line in self.run.stdout]
        self._check()
        return self.lines

    def _check(self):
        if self.run.wait():
            self.errors.seek(0)
            raise Failure(
                f"mtlm-dag ended with {self.run.returncode}: "
                f"{self.errors.read().strip()}"
            )


class Ours:
    def __init__(self, build):
        self.build = build

    def path(self, *parts):
        path = os.path.join(self.build, *parts)
        if not os.access(path, os.X_OK):
            raise Failure(f"{path} is not there: make -C {self.build} perf")
        return path

    def version(self):
        out = subprocess.run(
            [self.path("mtlm-dag"), "--version"],
            capture_output=True,
            text=True,
        )
        return out.stdout.split("\n")[0]

    def digest(self, name="mtlm-dag"):
        """Of the program's file; None without the file."""
        try:
            with open(os.path.join(self.build, name), "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        except FileNotFoundError:
            return None

    def can_train(self, case):
        """None, or what mtlm-dag says to this model."""
        done = subprocess.run(
            [
                self.path("mtlm-dag"),
                *case.options(1),
                *("--num-layers", "1", "--hidden-size", "64"),
                *("--num-attention-heads", "1", "--seq-length", "16"),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return None
        return done.stderr.strip().split("\n")[-1]

    def can_plan(self, case, more):
        """None, or what mtlm-dag says to this layout."""
        done = subprocess.run(
            [self.path("mtlm-dag"), *case.options(1), *more, "--dry-run"],
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return None
        return done.stderr.strip().split("\n")[-1]

    def weights(self, case, directory):
        """Dumps initial weights; they do not depend on the samples, so short
        ones do."""
        done = subprocess.run(
            [
                self.path("mtlm-dag"),
                *case.options(1),
                *("--micro-batch-size", "1", "--global-batch-size", "1"),
                *("--seq-length", "16", "--dump-first-step", directory),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Failure(f"mtlm-dag --dump-first-step: {done.stderr.strip()}")

    def samples(self, case, iterations, path):
        done = subprocess.run(
            [
                self.path("perf", "samples"),
                *(path, str(iterations)),
                *case.options(iterations),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Failure(f"perf/samples: {done.stderr.strip()}")

    def rates(self, threads, products, numbers="", blas=None):
        """The BLAS and {product: GF/s}; numbers: "bf16-" for products in
        bf16; blas: another one than a job's."""
        done = subprocess.run(
            [
                self.path("perf", "gemm"),
                str(threads),
                *(numbers + name for name in products),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "MTLM_BLAS": blas} if blas else None,
        )
        if done.returncode:
            raise Failure(done.stderr.strip())
        blas, *lines = done.stdout.strip().split("\n")
        found = dict(x.split() for x in lines)
        return blas, {n: float(found[numbers + n]) for n in products}

    def start(self, case, iterations, workers, more=(), ranks=1):
        """A Training; each of the ranks has so many workers."""
        return Training(
            [
                *(mpirun(ranks) if ranks > 1 else ()),
                self.path("mtlm-dag"),
                *case.options(iterations),
                *("--workers", str(workers)),
                *more,
            ],
            ranks,
        )

    def train(self, case, warm_up, iterations, workers, more=(), ranks=1):
        """As start().  {seconds, losses, cpu, switches: [iterations], all but
        losses after the warm-up, peak_bytes, others, engine (its share of a
        core)}."""
        out = {"seconds": [], "losses": []}
        marks, others = [], None
        count = warm_up + iterations
        with self.start(case, count, workers, more, ranks) as run:
            for number in range(1, count + 1):
                fields = run.iteration()
                out["losses"].append(losses_of(fields))
                out["seconds"].append(
                    fields["elapsed time per iteration (ms)"] / 1e3
                )
                if number == warm_up:
                    others = machine.Others()
                marks.append(
                    run.seen(lambda p: (p.cpu_seconds(), p.switches()))
                )
            out["peak_bytes"] = run.seen(lambda p: p.peak_bytes())
            own = marks[-1][0] - marks[warm_up - 1][0]
            out["others"] = others.cores(own)
            out["engine"] = engine_of(run.end())
        steps = list(zip(marks[warm_up - 1 :], marks[warm_up:]))
        out["seconds"] = out["seconds"][warm_up:]
        out["cpu"] = [b[0] - a[0] for a, b in steps]
        out["switches"] = [b[1] - a[1] for a, b in steps]
        return out
