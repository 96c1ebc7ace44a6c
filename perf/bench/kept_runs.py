"""Runs that are kept: PATH.options holds the words of a run that is whole,
PATH.log what the run printed; what it wrote lies beside them."""

import hashlib
import os
import signal
import subprocess

from bench.ours import Failure

INTERRUPTED = 75  # exit status of mtlm-dag after a signal
SPEAKER = "mtlm-dag: "
PROGRAMS = "mtlm-dag", "mtlm-preprocess"


class Stopped(Failure):
    """A signal ended a run."""


def programs(ours):
    """Words that tell runs of these programs from runs of changed ones.  ours:
    the Ours of a build."""
    return [f"{name} {ours.digest(name)}" for name in PROGRAMS]


def sources(folder, names):
    """Such words of scripts and modules in a folder."""
    words = []
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            words.append(f"{name} {hashlib.sha256(file.read()).hexdigest()}")
    return words


def is_whole(path, words):
    """Whether a run with these words has ended."""
    if not os.path.exists(path + ".options"):
        return False
    with open(path + ".options", encoding="utf-8") as file:
        return file.read() == "\n".join(words)


def begin(path):
    """Forgets the run before, whatever its words were."""
    for end in ".options", ".metrics":
        if os.path.exists(path + end):
            os.remove(path + end)


def end(path, words):
    with open(path + ".options", "w", encoding="utf-8") as file:
        file.write("\n".join(words))


def wait(process):
    """Returns the exit status, and whether this script got a signal.  The
    process gets the signal, too, and has time to save its state."""
    got = []

    def take(number, _):
        got.append(number)
        if number == signal.SIGTERM:  # Ctrl-C reaches both
            process.terminate()
    before = {n: signal.signal(n, take)
              for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        return process.wait(), bool(got)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def reason(log, status):
    """The last message of a program that failed."""
    with open(log, encoding="utf-8", errors="replace") as file:
        said = [line.strip() for line in file if line.startswith(SPEAKER)]
    return said[-1].removeprefix(SPEAKER) if said else f"status {status}"


def run(path, command, words=None):
    """Returns what the command prints, now or in an earlier run.  words: what
    the result depends on (default: the command)."""
    words, name, log = words or command, os.path.basename(path), path + ".log"
    if not is_whole(path, words):
        begin(path)
        print(f"... {name}", flush=True)
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen(command, stdout=file,
                                       stderr=subprocess.STDOUT)
            status, stopped = wait(process)
        if status == 0:
            end(path, words)
        if stopped or status == INTERRUPTED:
            raise Stopped(f"{name}: stopped by a signal")
        if status:
            raise Failure(f"{name}: {reason(log, status)}; see {log}")
    with open(log, encoding="utf-8") as file:
        return file.read()
