"""A fault in one call by which a rank of a job that saves checkpoints changes,
reads or looks at a file or directory there: whatever it is, no committed
checkpoint is lost or touched, and the next start goes on from the newest one
and ends with the weights of a run that nothing happened to.  The job itself
goes on from the newest one and ends with those weights, too, or it says what
failed and ends.

The test takes a sample.  make check-faults takes every call of every rank
under --save with every mode that means something to it (inject.c says which
modes there are), a job that begins and one that goes on; FAULTS='--write DIR'
keeps a page of the result, FAULTS='--calls stat,read' takes these calls
only."""
import argparse
import concurrent.futures
import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import power_loss
from calls import CHANGES, LOOKS, MODES
from jobs import (BUILD, ENVIRONMENT, MPIRUN, PROGRAM, TIME_SCALE, directory, left,
                  loaded, said_loaded, saved, weight_hash)
from page import endings, page

NEWEST = os.path.join(BUILD, "tests/faults/newest")
INJECT = os.path.join(BUILD, "tests/faults/inject.so")
RANKS = 2
OPTIONS = """--model gpt-tiny --num-layers 2 --hidden-size 16
    --num-attention-heads 2 --seq-length 16 --micro-batch-size 1
    --global-batch-size 2 --pipeline-model-parallel-size 2 --eval-iters 0
    --log-interval 1 --log-format megatron
    --lr 1e-3 --min-lr 0 --lr-decay-style constant
    --lr-warmup-fraction 0 --weight-hash --save-interval 1""".split()

REASONS = {"enospc": "No space left on device", "eio": "Input/output error",
           "stickyenospc": "No space left on device"}
# Exit codes that may be: the job carries on after what it can do without and
# what is over with the call; else it says that a file is bad or cannot be
# written.
CODES = {"short": {0}, "eintr": {0}, "kill": {137}}
OTHER_CODES = {0, 3, 4}
MPIRUN_CODE = 1  # no code of the program: mpirun's own
# What the faulty job does: from which checkpoints (of iterations) on, until
# which iteration.  An unfinished one lies there as well.
CASES = {"begins": ([], 2), "goes on": ([1, 2], 4)}
LAST = 4
KEEP = 2
SAMPLE = 8  # three of them of calls that look


def iteration_name(iteration):
    return f"iter_{iteration:07d}"


def job(save, until, keep=KEEP, fault=None, timeout=120 * TIME_SCALE):
    """Runs it; fault is the environment of inject.c.  Jobs run beside each
    other: each has a place for temporary files (tests/timed.sh says why)."""
    command = MPIRUN + ["-q", "-n", str(RANKS)]
    for name, value in (fault or {}).items():
        command += ["-x", f"{name}={value}"]
    command += [PROGRAM] + OPTIONS + [
        "--save", save, "--load", save, "--keep-last", str(keep),
        "--train-iters", str(until)]
    environment = dict(ENVIRONMENT, TMPDIR=os.path.dirname(save))
    with subprocess.Popen(command, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
            return 124, out, err
    return process.returncode, out, err


def digest(directory):
    """Of all that lies there; but a lock says which process it was."""
    result = hashlib.sha256()
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            shown = re.sub(r"\.tmp\.\d+\.", ".tmp.", path[len(directory):])
            result.update(shown.encode() + b"\0")
            if name != "lock":
                with open(path, "rb") as file:
                    result.update(hashlib.sha256(file.read()).digest())
        result.update(folder[len(directory):].encode() + b"\0")
    return result.hexdigest()


def list_of_newest(calls, save, newest):
    """Of [(number, call, path)] of rank 0 the first readdir of the list from
    which it takes the newest checkpoint: the last one before it reads that."""
    first, lists = None, False
    for number, call, path in sorted(calls):
        if path.startswith(os.path.join(save, iteration_name(newest), "")):
            return first
        if not (call == "readdir" and path == save):
            lists = False
        elif not lists:
            first, lists = number, True
    return None


class Campaign:
    def __init__(self, work):
        self.work, self.ranks = work, RANKS
        self.next_start = {}  # by digest: what the next start found wrong
        self.lock = threading.Lock()
        self.starts = 0
        self.codes = {}  # by fault: how its job ended
        self.repeated = []  # faults whose job mpirun did not carry through
        # Faults that end their job: the newest of some checkpoints is not the
        # newest.
        self.ends = []
        whole = os.path.join(work, "whole")
        code, out, err = job(whole, LAST, keep=9)
        self.hash = weight_hash(out)
        self.hashes = {}  # by job: of a run of it that nothing happened to
        if code or not self.hash:
            sys.exit(f"FAILED: the run without a fault: {code}\n{out}{err}")

    def directory(self, case):
        """A new one with what the case begins with."""
        path = tempfile.mkdtemp(dir=self.work)
        save = os.path.join(path, "save")
        whole = os.path.join(self.work, "whole")
        if CASES[case][0]:
            for iteration in CASES[case][0]:
                name = iteration_name(iteration)
                shutil.copytree(os.path.join(whole, name),
                                os.path.join(save, name))
            shutil.copytree(os.path.join(whole, name),
                            os.path.join(save, iteration_name(LAST) + ".tmp"))
        return save

    def calls(self, case):
        """[(rank, number, call)] of a run without a fault."""
        save = self.directory(case)
        log = os.path.join(os.path.dirname(save), "log")
        if CASES[case][0]:
            shutil.copytree(save, os.path.join(os.path.dirname(save), "start"))
            self.logged = save, max(CASES[case][0])
        code, out, err = job(save, CASES[case][1], fault={
            "LD_PRELOAD": INJECT, "FI_DIR": save, "FI_LOG": log})
        if code:
            sys.exit(f"FAILED: {case}: {code}\n{out}{err}")
        self.hashes[case] = weight_hash(out)
        found, first = [], []
        with open(log, encoding="utf-8") as file:
            for line in file:
                rank, number, call, path = line.split("\t")[:4]
                if int(number):
                    found.append((int(rank), int(number), call))
                    if rank == "0":
                        first.append((int(number), call, path))
        if CASES[case][0]:
            number = list_of_newest(first, *self.logged)
            if not number:
                sys.exit(f"FAILED: {case}: no list of the checkpoints")
            self.ends.append((case, 0, number, "readdir", "eio"))
        return sorted(found)

    def power_loss(self, most):
        """What is wrong when the power fails, and how many states there are.
        Without what makes it right the model must find something."""
        save, committed = self.logged
        place = os.path.dirname(save)
        def lost(forget=None):
            return power_loss.run(os.path.join(place, "log"),
                                  os.path.join(place, "start"), save, NEWEST,
                                  committed, place, most, forget)
        count, bad = lost()
        wrong = [f"power loss at {what}" for what in bad]
        def is_file(path):
            return "rank-" in path or "manifest" in path
        for name, forget in (("files", is_file),
                             ("directories", lambda path: not is_file(path))):
            if not lost(forget)[1]:
                wrong.append(f"power loss: {name} need not be synchronised")
        return count, wrong

    def points(self, case):
        """[(job, rank, number, call, mode)].  A kill after a look finds the
        disk as one before it does: of looks in a row the first is enough."""
        points, before = [], (None, None)
        for rank, number, call in self.calls(case):
            again = (call in LOOKS and before[0] == rank
                     and before[1] in LOOKS)
            points += [(case, rank, number, call, mode)
                       for mode, means in MODES.items()
                       if (means is None or call in means)
                       and not (again and mode == "kill")]
            before = rank, call
        return points

    def kept(self, case, save, said):
        """What is wrong with the checkpoints that were committed: all that
        --keep-last says are there, and none was touched.  One may be there of
        which nothing was said yet."""
        wrong = []
        there = {int(name.split("_")[1].split(".")[0])
                 for name in os.listdir(save)
                 if re.fullmatch(r"iter_\d+(\.\d+)?", name)}
        for iteration in sorted({*CASES[case][0], *said, *there})[-KEEP:]:
            if iteration not in there:
                wrong.append(f"iteration {iteration} was removed")
        for iteration in CASES[case][0]:
            name = iteration_name(iteration)
            path = os.path.join(save, name)
            if os.path.isdir(path):
                old = os.path.join(self.work, "whole", name)
                names = sorted(os.listdir(old))
                if sorted(os.listdir(path)) != names or filecmp.cmpfiles(
                        old, path, names, shallow=False)[0] != names:
                    wrong.append(f"iteration {iteration} was changed")
        return wrong

    def outcome(self, point, code, out, err):
        """What is wrong with how the faulty job ended."""
        case, mode = point[0], point[4]
        wrong = []
        newest = max(CASES[case][0], default=0)
        said = saved(out)
        complete = said == list(range(newest + 1, CASES[case][1] + 1))
        if code not in CODES.get(mode, OTHER_CODES):
            wrong.append(f"ended with {code}: {out[-200:]}{err[-500:]}")
        if mode in ("short", "eintr") and not complete:
            wrong.append(f"saved only {said}: {err[-500:]}")
        if said_loaded(out) and loaded(out) != newest and (
                "checkpoint skipped" not in err):
            wrong.append(f"went on from {loaded(out)}, not from {newest}")
        if code == 0 and weight_hash(out) != self.hashes[case]:
            wrong.append(f"ended with weights {weight_hash(out)}, "
                         f"not {self.hashes[case]}")
        if point in self.ends and (code == 0 or REASONS[mode] not in err):
            wrong.append(f"a list that breaks off is no end with the reason: "
                         f"{code}: {err[-500:]}")
        if (code not in (0, MPIRUN_CODE) or not complete) and (
                REASONS.get(mode, "") not in err):
            wrong.append(f"saved {said}, ended with {code}, and did not say "
                         f"why: {err[-500:]}")
        return wrong

    def start_again(self, save):
        """What is wrong with the next start, and where it began.  It depends
        on what lies there only: each once."""
        key = digest(save)
        with self.lock:
            if key in self.next_start:
                return self.next_start[key]
            self.starts += 1
        code, out, err = job(save, LAST)
        wrong = []
        if code:
            wrong.append(f"the next start ended with {code}: {err[-500:]}")
        elif weight_hash(out) != self.hash:
            wrong.append(f"weights {weight_hash(out)}, not {self.hash}")
        if "checkpoint skipped" in err:
            wrong.append(f"a damaged checkpoint: {err[:500]}")
        left = [name for name in os.listdir(save) if "tmp" in name]
        if left:
            wrong.append(f"left over: {left}")
        result = wrong, loaded(out)
        with self.lock:
            self.next_start[key] = result
        return result

    def run(self, point):
        """What was wrong with it: [text]."""
        wrong = self.run_once(point)
        if self.codes[point] == MPIRUN_CODE:
            print("again, mpirun failed:", *point, *wrong, flush=True)
            self.repeated.append(point)
            # What else was wrong is the program's.
            wrong = [text for text in wrong if not text.startswith(
                f"ended with {MPIRUN_CODE}:")] + self.run_once(point)
        return wrong

    def run_once(self, point):
        case, rank, number, _, mode = point
        save = self.directory(case)
        try:
            code, out, err = job(save, CASES[case][1], fault={
                "LD_PRELOAD": INJECT, "FI_DIR": save, "FI_RANK": rank,
                "FI_MODE": mode, "FI_AT": number})
            self.codes[point] = code
            said = saved(out)
            committed = max(CASES[case][0] + said, default=0)
            wrong = self.outcome(point, code, out, err)
            if not os.path.isdir(save):
                return wrong + [f"iteration {committed} is lost"] * bool(
                    committed)
            wrong += self.kept(case, save, said)
            again, began = self.start_again(save)
            if began < committed:
                wrong.append(f"iteration {committed} was committed, "
                             f"{began} was loaded")
            return wrong + again
        finally:
            shutil.rmtree(os.path.dirname(save))


def run_all(campaign, points, jobs, progress):
    """[(point, what was wrong)]"""
    begin = shown = time.monotonic()
    results = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(campaign.run, point): point for point in points}
        for future in concurrent.futures.as_completed(futures):
            point, wrong = futures[future], future.result()
            results.append((point, wrong))
            if wrong:
                print("FAILED:", *point, *wrong, flush=True)
            now = time.monotonic()
            if progress and (now > shown + 10 or len(results) == len(points)):
                shown = now
                rest = (now - begin) / len(results) * (
                    len(points) - len(results))
                bad = sum(1 for result in results if result[1])
                print(f"{len(results)} of {len(points)} faults, {bad} of them "
                      f"bad, {left(rest)}", flush=True)
    return results


def sample(points, ends):
    """Some of all kinds, the moments around the commit among them, and those
    that end the job."""
    def some(of, count):
        return [of[int(i * len(of) / count)] for i in range(count) if of]
    renames = [point for point in points
               if point[3] == "rename" and point[4] == "kill"]
    looks = [point for point in points if point[3] in LOOKS]
    changes = [point for point in points
               if point[3] in CHANGES and point[3] != "close"]
    return (renames[-1:] + some(changes, SAMPLE - 4)
            + [point for point in ends if point in points] + some(looks, 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="no sample")
    parser.add_argument("--jobs", type=int, default=4 * os.cpu_count())
    parser.add_argument("--write", metavar="DIR", type=directory)
    parser.add_argument("--calls", metavar="NAME,...",
                        type=lambda text: text.split(","))
    options = parser.parse_args()
    if options.write and options.calls:
        parser.error("a page is of all calls")
    linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True,
                            check=True).stdout
    if "libasan" in linked or "libtsan" in linked:
        print("a sanitizer wants to be the first library")
        sys.exit(77)
    # What matters is which calls there are, not what a disk takes for them.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as work:
        campaign = Campaign(os.path.realpath(work))
        cases = CASES if options.all else ["goes on"]
        points = [point for case in cases for point in campaign.points(case)]
        if options.calls:
            points = [point for point in points if point[3] in options.calls]
        if not options.all:
            points = sample(points, campaign.ends)
        begin = time.monotonic()
        states, lost = 0, []
        if not options.calls:
            states, lost = campaign.power_loss(200 if options.all else 12)
            print(f"power loss: {states} states of the disk", flush=True)
        for what in lost:
            print("FAILED:", what)
        results = run_all(campaign, points, options.jobs, options.all)
        if options.write and not lost:
            path = os.path.join(options.write, "faults.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(page(results, campaign, states,
                                time.monotonic() - begin))
    bad = sum(1 for _, wrong in results if wrong)
    for what, calls in ("change", CHANGES), ("look", LOOKS):
        for mode in MODES if options.all else ():
            print(f"calls that {what}, {mode}: to the end, with a reason, "
                  f"killed: {endings(campaign, calls, mode)}")
    print(f"{len(results)} faults, {bad} of them bad")
    sys.exit(bad > 0 or bool(lost))


main()
