"""Runs the readers of fuzz.c, several at once, and says how they are doing.

tests/fuzz/run.py PROGRAM SEEDS [READER]..., SEEDS as corpus.py makes them; what
is found lies beside them.  FUZZ_RUNS: executions of each (10 million);
FUZZ_SECONDS: no more than that many for each."""
import os
import re
import subprocess
import sys
import time

RUNS = int(os.environ.get("FUZZ_RUNS", 10_000_000))
# Freed blocks that are kept from being used again: few are enough.
ASAN = os.environ.get("ASAN_OPTIONS", "quarantine_size_mb=4")
SECONDS = int(os.environ.get("FUZZ_SECONDS", 0))


class Reader:
    def __init__(self, program, seeds, name):
        self.name, self.begin, self.seconds = name, time.monotonic(), None
        self.log = os.path.join(seeds, name + ".log")
        found = os.path.join(seeds, name + ".found")
        os.makedirs(found, exist_ok=True)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, f"-runs={RUNS}", f"-max_total_time={SECONDS}",
                 "-max_len=4096", "-timeout=10", "-print_final_stats=1",
                 "-verbosity=1", f"-artifact_prefix={seeds}/{name}-",
                 found, os.path.join(seeds, name)],
                env=dict(os.environ, MTLM_FUZZ=name, ASAN_OPTIONS=ASAN),
                stdout=log, stderr=log)

    def runs(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            text = log.read()
        total = re.findall(r"stat::number_of_executed_units: (\d+)", text)
        return int((total or re.findall(r"^#(\d+)", text, re.M) or [0])[-1])

    def ended(self):
        if self.seconds is None and self.process.poll() is not None:
            self.seconds = time.monotonic() - self.begin
        return self.seconds is not None

    def line(self):
        runs, spent = self.runs(), self.seconds
        if spent is None:
            spent = time.monotonic() - self.begin
            rest = (RUNS - runs) / max(runs, 1) * spent
            if SECONDS:
                rest = min(rest, SECONDS - spent)
            return (f"{self.name}: {runs} executions, "
                    f"{max(rest, 0) / 60:.1f} min left")
        code = self.process.returncode
        return (f"{self.name}: {runs} executions in {spent:.0f} s, "
                + ("nothing found" if code == 0
                   else f"FOUND something: exit code {code}, see {self.log}"))


def main():
    program, seeds, *names = sys.argv[1:]
    waiting = names or sorted(
        name for name in os.listdir(seeds)
        if os.path.isdir(os.path.join(seeds, name)) and "." not in name)
    running, bad, shown = [], 0, time.monotonic()
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            running.append(Reader(program, seeds, waiting.pop(0)))
        time.sleep(0.2)
        ended = [reader for reader in running if reader.ended()]
        for reader in ended:
            print(reader.line(), flush=True)
            bad += reader.process.returncode != 0
            running.remove(reader)
        if time.monotonic() > shown + 15:
            shown = time.monotonic()
            print("; ".join([reader.line() for reader in running]
                            + [f"{len(waiting)} wait"]), flush=True)
    sys.exit(bad > 0)


main()
