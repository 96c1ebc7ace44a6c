"""Jobs that are killed at random times and started again: they end with the
weights of the run that nothing happened to.

A job that saves all the time is killed by SIGKILL, one rank of it or mpirun,
and started again, until it has been killed as often as asked for; then it may
end.  Every other kill is aimed at a checkpoint that is being written.  The test
has a job of one rank and one of two, killed once each.  make check-kills takes
all layouts, 20 kills; KILLS='--write DIR' keeps a page of the result, --seed
another choice of times."""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from jobs import (ENVIRONMENT, MPIRUN, PROGRAM, TIME_SCALE, directory, left,
                  loaded, saved, weight_hash)

OPTIONS = """--model gpt-tiny --num-layers 4 --hidden-size 16
    --num-attention-heads 2 --seq-length 16 --micro-batch-size 1
    --global-batch-size 4 --attention-dropout 0.1 --hidden-dropout 0.1
    --eval-iters 0 --log-interval 1 --lr 1e-3 --min-lr 0 --lr-decay-style cosine
    --lr-warmup-fraction 0.1 --weight-hash --keep-last 2""".split()
TENSOR = "--tensor-model-parallel-size 2"
PIPELINE = "--pipeline-model-parallel-size 2"
SHARDS = "--use-distributed-optimizer --ddp-bucket-size 5000"
LAYOUTS = {  # ranks, iterations from one checkpoint to the next, options
    "1 x 1 x 1": (1, 1, ""),
    "2 x 1 x 1, fp16": (2, 1, TENSOR + " --fp16 --loss-scale-window 2"
                        " --initial-loss-scale 1024"),
    "1 x 2 x 1": (2, 1, PIPELINE),
    "1 x 1 x 2": (2, 3, ""),
    "2 x 2 x 1": (4, 1, TENSOR + " " + PIPELINE),
    "1 x 1 x 2, distributed optimizer": (2, 1, SHARDS),
    "1 x 2 x 1, virtual stages": (2, 1, PIPELINE + " --placement v"
                                  " --num-virtual-stages-per-pipeline-rank 2"),
    "1 x 1 x 2, bf16": (2, 1, "--bf16"),
    "1 x 2 x 2, distributed optimizer": (4, 2, PIPELINE + " " + SHARDS),
    "2 x 1 x 2, distributed optimizer, bf16": (
        4, 1, TENSOR + " --sequence-parallel --bf16 " + SHARDS)}
SAMPLE = ["1 x 1 x 1", "1 x 1 x 2, distributed optimizer"]
MARK = "MTLM_TEST_KILLS"  # in the environment of all processes of a job
SECONDS = 120 * TIME_SCALE  # that a job, or its ranks' end, may take


def environment(pid):
    """{name: value}, {} when the process has ended or is none of ours."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0")
                if "=" in entry)


class Job:
    """A start of it, from what lies in the directory."""

    def __init__(self, layout, directory, until):
        ranks, interval, options = LAYOUTS[layout]
        self.place = directory
        save = os.path.join(directory, "save")
        command = MPIRUN + ["-q", "-n", str(ranks)] if ranks > 1 else []
        command += [PROGRAM] + OPTIONS + options.split() + [
            "--save", save, "--load", save, "--save-interval", str(interval),
            "--train-iters", str(until)]
        self.mpirun = ranks > 1
        self.mark = f"{os.getpid()}.{time.monotonic_ns()}"
        self.begin = time.monotonic()
        with open(self.path("out"), "wb") as out, \
                open(self.path("err"), "wb") as err:
            self.process = subprocess.Popen(
                command, env=dict(ENVIRONMENT, **{MARK: self.mark}),
                stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True)

    def path(self, name):
        return os.path.join(self.place, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def processes(self):
        """{pid: rank}, None for mpirun."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            env = environment(pid)
            if env.get(MARK) == self.mark:
                found[int(pid)] = env.get("OMPI_COMM_WORLD_RANK",
                                          None if self.mpirun else "0")
        return found

    def reached(self):
        done = re.findall(r" iteration +(\d+)/", self.text("out"))
        return int(done[-1]) if done else 0

    def checkpoints(self):
        """The iterations of those that are there."""
        save = self.path("save")
        names = os.listdir(save) if os.path.isdir(save) else []
        return [int(name[5:12]) for name in names
                if re.fullmatch(r"iter_\d{7}(\.\d+)?", name)]

    def unfinished(self):
        save = self.path("save")
        return os.path.isdir(save) and any("tmp" in name
                                           for name in os.listdir(save))

    def wait(self, seconds):
        """Whether it has ended within that time."""
        try:
            self.process.wait(max(seconds, 0))
        except subprocess.TimeoutExpired:
            return False
        return True

    def leave(self):
        """Waits until no process of it is left; those that stay are ended.
        Returns how many did."""
        until = time.monotonic() + SECONDS
        while self.processes() and time.monotonic() < until:
            time.sleep(0.01)
        stay = self.processes()
        for pid in stay:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        return len(stay)

    def saves(self):
        """Waits until it saves; whether it does."""
        while self.process.poll() is None:
            if self.unfinished():
                return True
            time.sleep(0.0002)
        return False

    def kill(self, draw, aimed):
        """One of its processes, or when aimed one of its ranks as soon as it
        saves; the name of what was killed, or None when it has ended."""
        found = sorted((pid, rank) for pid, rank in self.processes().items()
                       if not aimed or rank is not None)
        if not found:
            return None
        pid, rank = draw.choice(found)
        if aimed and not self.saves():
            return None
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        return f"rank {rank}" if rank else "mpirun"


class Campaign:
    def __init__(self, work, seed, until):
        self.work, self.until = work, until
        self.draw = random.Random(seed)
        self.kills, self.wrong = [], []

    def fail(self, layout, text):
        self.wrong.append(f"{layout}: {text}")
        print("FAILED:", self.wrong[-1], flush=True)

    def whole(self, layout):
        """The weights of the run that nothing happens to, and how long it took
        until it trained and until it ended."""
        job = Job(layout, tempfile.mkdtemp(dir=self.work), self.until)
        while not job.reached() and not job.wait(0.01):
            pass
        begins = time.monotonic() - job.begin
        if not job.wait(SECONDS) or job.process.returncode:
            job.leave()
            sys.exit(f"FAILED: {layout}: {job.text('out')}{job.text('err')}")
        return (weight_hash(job.text("out")), begins,
                time.monotonic() - job.begin)

    def look(self, layout, job, committed):
        """Whether it went on from what was committed before; what is now."""
        now = max(job.checkpoints(), default=0)
        if job.reached() and loaded(job.text("out")) < committed:
            self.fail(layout, f"iteration {committed} was committed, "
                      f"{loaded(job.text('out'))} was loaded")
        if now < max([committed] + saved(job.text("out"))):
            self.fail(layout, f"of {saved(job.text('out'))} and {committed} "
                      f"{now} is there")
        if "checkpoint skipped" in job.text("err"):
            self.fail(layout, "a damaged checkpoint: " + job.text("err"))
        return now

    def end(self, layout, job, weights):
        """What it comes to when nothing happens any more."""
        code = job.process.returncode
        if code:
            self.fail(layout, f"ended with {code}: {job.text('err')[-500:]}")
        elif weight_hash(job.text("out")) != weights:
            self.fail(layout, f"weights {weight_hash(job.text('out'))}, not "
                      f"{weights}")
        if job.unfinished():
            self.fail(layout, "an unfinished checkpoint is left over")

    def strike(self, layout, job, after):
        """Kills it then, every other time when it saves; what was killed, None
        when it had ended."""
        victim = None
        if not job.wait(job.begin + after - time.monotonic()):
            victim = job.kill(self.draw, len(self.kills) % 2 == 1)
        stay = job.leave()
        if stay:
            self.fail(layout, f"{stay} processes stay after {victim} was "
                      "killed")
        return victim if job.process.returncode else None

    def run(self, layout, times):
        """A job that is killed so often; should it end before, another one
        goes on from nothing."""
        weights, begins, takes = self.whole(layout)
        place, committed, killed = tempfile.mkdtemp(dir=self.work), 0, 0
        for _ in range(10 * times):
            if killed == times:
                break
            rest = (takes - begins) * (1 - committed / self.until)
            after = self.draw.uniform(begins / 2, begins + rest)
            fresh = committed == 0
            job = Job(layout, place, self.until)
            victim = self.strike(layout, job, after)
            committed = self.look(layout, job, committed)
            if not victim:
                self.end(layout, job, weights)
                # The machine was busier before: the draws follow.
                slower = (time.monotonic() - job.begin) / takes
                if fresh and slower < 1:
                    begins, takes = slower * begins, slower * takes
                place, committed = tempfile.mkdtemp(dir=self.work), 0
                continue
            killed += 1
            self.kills.append((layout, victim, after, loaded(job.text("out")),
                               committed, job.unfinished()))
            print(f"{layout}: {victim} killed after {after:.2f} s, iteration "
                  f"{committed} saved"
                  + ", something unfinished" * job.unfinished(), flush=True)
        if killed < times:
            self.fail(layout, f"could be killed only {killed} times")
        job = Job(layout, place, self.until)
        job.wait(SECONDS)
        job.leave()
        self.look(layout, job, committed)
        self.end(layout, job, weights)


def page(campaign, options, seconds):
    kills = campaign.kills
    further = [kill for kill in kills if kill[4] > kill[3]]
    lines = ["# Killed at random times", "",
             f"`make check-kills KILLS='--write DIR --seed {options.seed}'`: "
             f"{len(kills)} kills in {seconds / 60:.0f} min, by SIGKILL, of a "
             "random rank or of mpirun, at random times of jobs of "
             f"{campaign.until} iterations that save all the time; half of them "
             "are aimed: a rank's, as soon after the random time as a "
             "checkpoint is under way; "
             f"{len(further)} after a checkpoint or more, "
             f"{sum(kill[5] for kill in kills)} left something unfinished (a "
             "checkpoint that was not committed or not wholly deleted). One is "
             "under way nearly all the time, so that this says little about "
             "the moment. "
             f"Wrong: {len(campaign.wrong)}.", "",
             "Each job was started again in its directory until it ended. It "
             "had to go on from the newest committed checkpoint, to end with "
             "the weights (to the bit) of the run that nothing happened to, "
             "and to leave no process and nothing unfinished behind. Where one "
             "ended before it could be killed, another began from nothing.", "",
             "| tensor x pipeline x data | killed | after | had gone on from | "
             "saved | unfinished |", "|---|---|---|---|---|---|"]
    for layout, victim, after, began, committed, unfinished in kills:
        lines.append(f"| {layout} | {victim} | {after:.2f} s | {began} | "
                     f"{committed} | {'yes' if unfinished else ''} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="no sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", metavar="DIR", type=directory)
    options = parser.parse_args()
    layouts = list(LAYOUTS) if options.all else SAMPLE
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        campaign = Campaign(os.path.realpath(work), options.seed,
                            80 if options.all else 40)
        print(f"seed {options.seed}", flush=True)
        for number, layout in enumerate(layouts):
            campaign.run(layout, 2 if options.all else 1)
            if options.all:
                spent = time.monotonic() - begin
                print(left(spent / (number + 1) * (len(layouts) - number - 1)),
                      flush=True)
    if options.write:
        path = os.path.join(options.write, "kills.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(campaign, options, time.monotonic() - begin))
    print(f"{len(campaign.kills)} kills, {len(campaign.wrong)} of what came of "
          "them wrong")
    sys.exit(bool(campaign.wrong))


main()
