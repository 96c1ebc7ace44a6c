"""A fault in one call by which a rank of a job that saves checkpoints opens or
changes a file: whatever it is, no committed checkpoint is lost, and the next start goes on from the
newest one and ends with the weights of a run that nothing happened to.

The test takes a sample.  make check-faults takes every call of every rank
under --save with every mode that means something to it (inject.c says which
modes there are), a job that begins and one that goes on; FAULTS='--write DIR'
keeps a page of the result."""
import argparse
import concurrent.futures
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
from jobs import (BUILD, ENVIRONMENT, MPIRUN, PROGRAM, left, loaded, saved,
                  weight_hash)

NEWEST = os.path.join(BUILD, "tests/faults/newest")
INJECT = os.path.join(BUILD, "tests/faults/inject.so")
RANKS = 2
OPTIONS = """--model gpt-tiny --num-layers 2 --hidden-size 16
    --num-attention-heads 2 --seq-length 16 --micro-batch-size 1
    --global-batch-size 2 --pipeline-model-parallel-size 2 --eval-iters 0
    --log-interval 1 --lr 1e-3 --min-lr 0 --lr-decay-style constant
    --lr-warmup-fraction 0 --weight-hash --save-interval 1""".split()

INTERRUPTIBLE = {"open", "write", "pwrite", "fsync"}
MODES = {  # and the calls for which it means something
    "kill": None, "enospc": None, "eio": None,
    "short": {"write", "pwrite"}, "eintr": INTERRUPTIBLE,
    "stickyenospc": None}
# Exit codes that may be: the job carries on after what it can do without and
# what is over with the call; else it says that a file is bad or cannot be
# written.
CODES = {"short": {0}, "eintr": {0}, "kill": {137}}
OTHER_CODES = {0, 3, 4}
# What the faulty job does: from which checkpoints (of iterations) on, until
# which iteration.  An unfinished one lies there as well.
CASES = {"begins": ([], 2), "goes on": ([1, 2], 4)}
LAST = 4
SAMPLE = 8


def iteration_name(iteration):
    return f"iter_{iteration:07d}"


def job(save, until, keep=2, fault=None, timeout=120):
    """Runs it; fault is the environment of inject.c."""
    command = MPIRUN + ["-q", "-n", str(RANKS)]
    for name, value in (fault or {}).items():
        command += ["-x", f"{name}={value}"]
    command += [PROGRAM] + OPTIONS + [
        "--save", save, "--load", save, "--keep-last", str(keep),
        "--train-iters", str(until)]
    with subprocess.Popen(command, env=ENVIRONMENT, text=True,
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


class Campaign:
    def __init__(self, work):
        self.work = work
        self.next_start = {}  # by digest: what the next start found wrong
        self.lock = threading.Lock()
        self.starts = 0
        whole = os.path.join(work, "whole")
        code, out, err = job(whole, LAST, keep=9)
        self.hash = weight_hash(out)
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
        found = []
        with open(log, encoding="utf-8") as file:
            for line in file:
                rank, number, call = line.split("\t")[:3]
                if int(number):
                    found.append((int(rank), int(number), call))
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
        return [(case, rank, number, call, mode)
                for rank, number, call in self.calls(case)
                for mode, means in MODES.items()
                if means is None or call in means]

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
        if "left out" in err:
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
        case, rank, number, _, mode = point
        save = self.directory(case)
        try:
            code, out, err = job(save, CASES[case][1], fault={
                "LD_PRELOAD": INJECT, "FI_DIR": save, "FI_RANK": rank,
                "FI_MODE": mode, "FI_AT": number})
            said = saved(out)
            committed = max(CASES[case][0] + said, default=0)
            wrong = []
            if code not in CODES.get(mode, OTHER_CODES):
                wrong.append(f"ended with {code}: {err[-500:]}")
            first = max(CASES[case][0], default=0) + 1
            if mode in ("short", "eintr") and said != list(
                    range(first, CASES[case][1] + 1)):
                wrong.append(f"saved only {said}: {err[-500:]}")
            if not os.path.isdir(save):
                return wrong + [f"iteration {committed} is lost"] * bool(
                    committed)
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


def page(results, campaign, states, seconds):
    lines = ["# A fault in every call that changes files", "",
             f"`make check-faults`, a job of {RANKS} ranks: {len(results)} "
             f"runs in {seconds / 60:.0f} min, each with one fault, and "
             f"{campaign.starts} next starts (one for each state that was "
             "left behind). The calls: open, write, pwrite, ftruncate, fsync, "
             "close, rename, mkdir, mknod, unlink, unlinkat and rmdir in the "
             "directory of the checkpoints. No fault is injected into what "
             "looks only (stat, statvfs, access, opendir, readdir), into "
             "flock, or into reads of mapped files.", "",
             "A fault is bad when a committed checkpoint is lost, when the "
             "next start does not go on from the newest one, when it ends "
             "with other weights than the run without a fault, when something "
             "unfinished is left, or when the faulty job ends otherwise than "
             "it should.", "",
             "| job | rank | calls | " + " | ".join(MODES) + " | bad |",
             "|---|---|---|" + "---|" * (len(MODES) + 1)]
    for case in CASES:
        for rank in range(RANKS):
            mine = [(point, wrong) for point, wrong in results
                    if point[:2] == (case, rank)]
            runs = [sum(1 for point, _ in mine if point[4] == mode)
                    for mode in MODES]
            bad = sum(1 for _, wrong in mine if wrong)
            calls = len({point[2] for point, _ in mine})
            lines.append(f"| {case} | {rank} | {calls} | "
                         + " | ".join(map(str, runs)) + f" | {bad} |")
    lines += ["", f"Power that fails during the job that goes on "
              f"(tests/faults/power_loss.py): {states} states of the disk, "
              "none of which lost a committed checkpoint; without either the "
              "files' or the directories' fsync the same model finds losses."]
    lines += ["", "short means something to writes only, eintr to open, write "
              "and fsync."]
    return "\n".join(lines) + "\n"


def sample(points):
    """Some of all kinds, the moments around the commit among them."""
    renames = [point for point in points
               if point[3] == "rename" and point[4] == "kill"]
    rest = [point for point in points if point[3] != "close"]
    step = len(rest) / (SAMPLE - 1)
    return renames[-1:] + [rest[int(i * step)] for i in range(SAMPLE - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="no sample")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count())
    parser.add_argument("--write", metavar="DIR")
    options = parser.parse_args()
    linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True,
                            check=True).stdout
    if "libasan" in linked or "libtsan" in linked:
        print("a sanitizer wants to be the first library")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        campaign = Campaign(os.path.realpath(work))
        cases = CASES if options.all else ["goes on"]
        points = [point for case in cases for point in campaign.points(case)]
        if not options.all:
            points = sample(points)
        begin = time.monotonic()
        states, lost = campaign.power_loss(200 if options.all else 12)
        for what in lost:
            print("FAILED:", what)
        print(f"power loss: {states} states of the disk", flush=True)
        results = run_all(campaign, points, options.jobs, options.all)
        if options.write and not lost:
            path = os.path.join(options.write, "faults.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(page(results, campaign, states,
                                time.monotonic() - begin))
    bad = sum(1 for _, wrong in results if wrong)
    print(f"{len(results)} faults, {bad} of them bad")
    sys.exit(bad > 0 or bool(lost))


main()
