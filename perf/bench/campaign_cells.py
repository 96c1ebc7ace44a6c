"""Cells of a campaign: the calls of mtlm-dag that answer them, and their rows."""

import collections
import csv
import os
import re
import subprocess
import tempfile
import threading

from bench import (
    policies,
    programs,
    published,
    schedule_table,
    simulated,
    sleeping,
)
from bench.campaign_grid import (
    EVALUATED,
    SCHEDULES,
    WITHOUT_ORDER,
    Wrong,
    is_noisy,
)
from bench.ours import Failure, mpirun

REFUSED = 2, 6  # exit codes: wrong options, not enough memory in --act-mem
# What a refusal begins with that says nothing of the combination: another
# environment, policy or machine would take the same cell.
FAULTS = "STARPU_SCHED", "this mtlm-dag was built without", "TMPDIR="
FAULT = re.compile("|".join(
    (*FAULTS, "the scheduling policy ", r"not enough memory: \d+ bytes ", "fork: ",
     r"(an iteration|a plan) of \d+ microbatches .* this machine has ")))
SEEDS = 20  # of a plan under noise

# Cells that one call answers, of one seed or of many.
Task = collections.namedtuple("Task", "cells")
# A line of cells.csv.  seconds, bound: None where reason says why.
Row = collections.namedtuple("Row", "cell seconds bound reason")


class Refused(Exception):
    """mtlm-dag refuses the combination; the text is its sentence."""


# ---- tasks ----


def _blocks(cells):
    """Cells of one configuration, of all modes, cut where a plan's seeds end."""
    rest = sorted(cells, key=lambda cell: int(cell.seed or 0))
    while rest:
        end = int(rest[0].seed or 0) + SEEDS
        yield [c for c in rest if int(c.seed or 0) < end]
        rest = [c for c in rest if int(c.seed or 0) >= end]


def tasks_of(how, cells):
    """[Task] of cells without a row.  A plan answers all modes and 20 seeds."""
    if how != "evaluate":
        return [Task([cell]) for cell in cells]
    groups = {}
    for cell in cells:
        key = cell._replace(mode=None, seed=None)
        groups.setdefault(key, []).append(cell)
    return [Task(b) for group in groups.values() for b in _blocks(group)]


# ---- one call ----


def is_followed(name):
    """Whether ranks follow the schedule's order without --schedule-mode."""
    schedule = published.find(name)
    return schedule is not None and schedule.followed


class Calls:
    """Answers tasks: [Row] of each."""

    def __init__(self, ours, grid):
        self.ours, self.grid = ours, grid
        self.lock, self.bytes = threading.Lock(), {}

    def _output(self, words, env):
        """What the program prints; Refused, Failure."""
        limit = self.grid.limit
        try:
            done = programs.run(words, env, limit, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Failure(f"mtlm-dag took more than {limit:g} s") from None
        said = " ".join(done.stderr.split()).removeprefix("mtlm-dag: ")
        last = said.rpartition("mtlm-dag: ")[2]
        if done.returncode in REFUSED and not FAULT.match(last):
            raise Refused(said)
        if done.returncode:
            raise Failure(said or f"exit status {done.returncode}")
        return done.stdout

    def check(self):
        """Refuses values of axes that mtlm-dag does not know; Wrong."""
        with programs.threads(1) as pool:
            pool.submit(self._check).result()

    def _check(self):
        first = self.grid.cells[0]._replace(
            schedule="1f1b", mode="emergent", p="1", v="own", m="1",
            jitter="0", memory="own", seed="",
        )
        for jitter in self.grid.axes["jitter"]:
            self._try(["--dry-run", "--jitter", jitter], first, "--jitter is '")
        for name in self.grid.axes["schedule"]:
            if name not in SCHEDULES:
                self._try(["--dry-run", f"--schedule={name}"], first,
                          "--schedule is '")
        for policy in self.grid.axes["policy"]:
            if policy not in EVALUATED:
                self._try_policy(first._replace(policy=policy))

    def _try_policy(self, cell):
        with tempfile.TemporaryDirectory() as work:
            cluster = self._cluster(cell, work)
            words = ["--synthetic", cluster, "--train-iters", "1"]
            if self.grid.how == "simulate":
                words = ["--simulate", cluster, "--simulate-engine", "starpu"]
            else:
                words += ["--stretch", self.grid.stretch]
            self._try(words, cell, FAULTS, work)

    def _try(self, words, cell, begin, work=None):
        """Wrong if a sentence that begins so refuses a small job.  Of others, the
        cells will say why."""
        program = self.ours.path("mtlm-dag")
        small = sleeping.options(1, 1, 1)
        try:
            self._output([program, *small, *words],
                         self._environment(cell.policy, work))
        except (Refused, Failure) as refused:
            if str(refused).startswith(begin):
                raise Wrong(str(refused)) from None

    def rows(self, task):
        """[Row] of the task's cells; Failure."""
        with tempfile.TemporaryDirectory() as work:
            try:
                return getattr(self, "_" + self.grid.how)(task.cells, work)
            except Refused as refused:
                return _refused(task.cells, str(refused))

    # ---- options ----

    def _environment(self, policy, work):
        env = dict(os.environ, STARPU_SCHED=policy)
        if self.grid.how == "run" and work:
            env["STARPU_PERF_MODEL_DIR"] = work  # no performance models of other runs
        return env

    def _job(self, cell):
        given = self.grid.given
        each = given.get("--micro-batch-size", "1")
        samples = int(cell.m) * (int(each) if each.isdecimal() else 1)
        words = sleeping.options(self.grid.layers * int(cell.p), samples, cell.p)
        if "--model" in given:
            words = words[words.index("--micro-batch-size"):]
        if cell.v != "own":
            words += ["--num-virtual-stages-per-pipeline-rank", cell.v]
        words += ["--schedule", cell.schedule, *self.grid.options]
        if cell.memory != "own":
            words += ["--act-mem", f"{self._memory(cell):.0f}"]
        return words

    def _memory(self, cell):
        """Bytes of --act-mem."""
        number = cell.memory.removesuffix("p")
        each = self._microbatch_bytes(cell.p)
        return float(number) * each * (
            int(cell.p) if cell.memory.endswith("p") else 1
        )

    def _microbatch_bytes(self, p):
        """Activations of a microbatch on a rank: auto's own limit is p of them."""
        with self.lock:
            if p in self.bytes:
                return self.bytes[p]
        plain = self.grid.cells[0]._replace(
            schedule="auto", p=p, v="own", m=str(2 * int(p)), memory="own"
        )
        said = self._output(
            [self.ours.path("mtlm-dag"), *self._job(plain), "--dry-run"],
            self._environment("prio", None),
        )
        found = schedule_table.act_mem_of(said) / int(p)
        with self.lock:
            self.bytes[p] = found
        return found

    def _cluster(self, cell, work):
        """The file of the cell's times."""
        times = self.grid.times[cell.times]
        if times.kind != "named":
            return times.path
        path = os.path.join(work, "cluster.ini")
        *passes, hop = (1000 * x for x in times.values)
        sleeping.describe(path, passes, hop)
        return path

    @staticmethod
    def _noise(cell):
        if not is_noisy(cell.jitter):
            return []
        return ["--jitter", cell.jitter, "--seed", cell.seed]

    @staticmethod
    def _mode(cell):
        if cell.mode != "emergent":
            return ["--schedule-mode", cell.mode]
        return ["--schedule-mode", "windows"] if is_followed(cell.schedule) else []

    # ---- how = evaluate ----

    def _plan(self, cell, ordered, work):
        """({(mode, seed): seconds}, bound) of a plan."""
        path = os.path.join(work, "modes.csv")
        staged = self.grid.times[cell.times].kind == "stages"
        said = self._output(
            [
                *(self.ours.path("mtlm-dag"), "--dry-run", *self._job(cell)),
                *(("--schedule-mode", "strict") if ordered else ()),
                "--stage-times" if staged else "--synthetic",
                *(self._cluster(cell, work), *self._noise(cell)),
                *("--modes-out", path),
            ],
            self._environment(cell.policy, work),
        )
        with open(path, newline="") as file:
            found = {(row["mode"], row["seed"] if cell.seed else ""):
                     float(row["seconds"]) for row in csv.DictReader(file)}
        return found, schedule_table.plan_of(said, "prio")["least"]

    def _evaluate(self, cells, work):
        first = cells[0]
        ordered = first.schedule not in WITHOUT_ORDER
        try:
            found, bound = self._plan(first, ordered, work)
        except Refused as refused:
            return self._without_order(cells, ordered, str(refused), work)
        if is_followed(first.schedule):
            found.update({("emergent", seed): seconds for (mode, seed), seconds
                          in found.items() if mode == "windows"})
        return _found(cells, found, bound)

    def _without_order(self, cells, ordered, why, work):
        """Where the order is refused, the schedule may still go without."""
        free = [c for c in cells if c.mode == "emergent"]
        rest = [c for c in cells if c.mode != "emergent"]
        if not free or not ordered or is_followed(cells[0].schedule):
            return _refused(cells, why)
        try:
            found, bound = self._plan(cells[0], False, work)
            rows = _found(free, found, bound)
        except Refused as refused:
            rows = _refused(free, str(refused))
        return [*_refused(rest, why), *rows]

    # ---- how = simulate, run ----

    def _simulate(self, cells, work):
        cell, = cells
        engine = "evaluator" if cell.policy in EVALUATED else "starpu"
        self._output(
            simulated.command(
                self.ours.path("mtlm-dag"), self._cluster(cell, work),
                [*self._job(cell), *self._mode(cell), *self._noise(cell)],
                work, engine,
            ),
            self._environment(cell.policy, work),
        )
        found = simulated.figures(work)
        seconds = found["iteration_s"]
        return [Row(cell, seconds, seconds * (1 - found["busiest_bubble"]), "")]

    def _run(self, cells, work):
        cell, = cells
        last, trace = self.grid.iterations, os.path.join(work, "trace")
        ranks = int(cell.p)
        self._output(
            [
                *(mpirun(ranks) if ranks > 1 else ()),
                *(self.ours.path("mtlm-dag"), *self._job(cell)),
                *(*self._mode(cell), "--synthetic", self._cluster(cell, work)),
                *("--stretch", self.grid.stretch, *self._noise(cell)),
                *("--train-iters", str(last), "--trace", trace),
                *("--trace-iterations", f"2:{last}"),
            ],
            self._environment(cell.policy, work),
        )
        summary, _ = policies.read(trace)
        periods = policies.periods(summary)
        if not periods:
            raise Failure("no iteration counts: give more iterations")
        bound = summary.get("lower_bound_ms")
        return [Row(cell, sum(periods) / len(periods) / 1e3,
                    bound and bound / 1e3, "")]


def _refused(cells, why):
    """A row for each configuration."""
    return [Row(cell, None, None, why)
            for cell in dict.fromkeys(c._replace(seed="") for c in cells)]


def _found(cells, found, bound):
    """Rows of cells whose seconds are there; the others lack their mode."""
    rows = []
    for cell in cells:
        seconds = found.get((cell.mode, cell.seed))
        if seconds is not None:
            rows.append(Row(cell, seconds, bound, ""))
        else:
            rows += _refused([cell], f"{cell.schedule} has no mode {cell.mode} here")
    return list(dict.fromkeys(rows))
