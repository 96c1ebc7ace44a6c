"""A session of gpu-check: what it runs, with the time that is left, and what it
keeps of that."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

from bench.ours import iteration_of

ROOT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
RUN = os.path.join(ROOT, "run")
BUILD = os.path.join(ROOT, "build")
PEER = os.path.join(ROOT, "perf", "bench", "peer_gpu.py")
TAIL = 2000
SAID = 8 * TAIL


class Wrong(Exception):
    """A check ran and found something; the text says what."""


@dataclasses.dataclass
class Result:
    status: str  # "right", "wrong", "no time", "cannot run"
    seconds: float = 0
    figures: dict = dataclasses.field(default_factory=dict)
    commands: list = dataclasses.field(default_factory=list)
    said: str = ""


def end_all(session):
    """Ends all processes of a session of the system, and what mpirun makes
    groups of its own within it."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(number)) == session:
                os.kill(int(number), signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


class Session:
    """Time that is left, and the commands of the check under way."""

    def __init__(self, minutes, directory, output):
        self.end = time.monotonic() + 60 * minutes
        self.directory = directory
        self.pages = os.path.dirname(os.path.abspath(output))
        self.result = None
        self.starting, self.stopped = False, False

    def stop(self):
        """Ends the program, and the command under way first.  A command whose
        start is under way has no number yet: command() ends it."""
        self.stopped = True
        if not self.starting:
            sys.exit(143)

    def note(self, **figures):
        """What is kept even if the check goes on to fail."""
        self.result.figures.update(figures)

    def left(self):
        return self.end - time.monotonic()

    def command(self, *words, limit, expect=0, env=()):
        """What it prints; Wrong where it ends otherwise than expected."""
        words = [str(w) for w in words]
        self.result.commands.append(" ".join(words).replace(ROOT + "/", ""))
        limit = min(limit, self.left())
        self.starting = True
        try:
            run = subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                cwd=self.directory,
                env={**os.environ, **dict(env)},
                start_new_session=True,
            )
        except OSError:
            self.starting = False
            raise
        try:
            self.starting = False
            if self.stopped:
                self.stop()
            texts, late = run.communicate(timeout=max(limit, 1)), False
        except subprocess.TimeoutExpired:
            late = True
        finally:
            # What it started must not run beside the next.
            end_all(run.pid)
        if late:
            texts = run.communicate()
        self.keep(*texts)
        if late:
            raise Wrong(f"not over after {limit:.0f} s")
        if run.returncode != expect:
            raise Wrong(f"ended with {run.returncode}, not {expect}")
        return texts[0]

    def keep(self, *texts):
        """Of each the beginning and the end."""
        for text in texts:
            if len(text) > 2 * TAIL:
                text = f"{text[:TAIL]}\n[...]\n{text[-TAIL:]}"
            self.result.said = (self.result.said + text)[-SAID:]

    def built(self, program, *words, limit, ranks=1, env=()):
        """A program of ours, by the bundle's libraries where this is one."""
        run = [RUN] if os.path.exists(RUN) else []
        if ranks > 1:
            run += [
                *("mpirun", "--allow-run-as-root", "--oversubscribe"),
                *("--bind-to", "none", "-n", ranks),
            ]
        program = os.path.join(BUILD, *program.split("/"))
        return self.command(*run, program, *words, limit=limit, env=env)

    def ours(self, *words, **more):
        return self.built("mtlm-dag", *words, **more)

    def peer(self, limit, **options):
        """What PyTorch says: the fields of its lines, of "loss" a list."""
        words = sys.executable, PEER, json.dumps(options)
        try:
            said = self.command(*words, limit=limit)
        except Wrong as wrong:
            if "No module named" in self.result.said:
                raise FileNotFoundError("no PyTorch, or no numpy") from wrong
            raise
        fields = {"losses": []}
        for line in map(json.loads, said.splitlines()):
            if "loss" in line:
                fields["losses"].append(line["loss"])
            fields.update(line)
        return fields

    def losses(self, *words, **more):
        fields = map(iteration_of, self.ours(*words, **more).splitlines())
        return [f["lm loss"] for f in fields if f]
