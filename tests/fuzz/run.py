"""Runs the readers of fuzz.c, several at once, and says how they are doing.

tests/fuzz/run.py [--write DIR] PROGRAM SEEDS [READER]..., SEEDS as corpus.py
makes them; what is found lies beside them.  FUZZ_RUNS: executions of each (10
million); FUZZ_SECONDS: no more than that many for each; FUZZ_JOBS: readers at
once (one for each core).  --write keeps a page of all readers that ran, this
time or before; the page that is there keeps the rows of other build folders."""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "perf"))

from bench.page_files import write  # noqa: E402
from bench.report import directory  # noqa: E402

RUNS = int(os.environ.get("FUZZ_RUNS", 10_000_000))
SECONDS = int(os.environ.get("FUZZ_SECONDS", 0))
JOBS = int(os.environ.get("FUZZ_JOBS", os.cpu_count() or 1))
# Freed blocks that are kept from being used again: few are enough.  Where a
# block came from is found out by running what was found without this.
ASAN = os.environ.get("ASAN_OPTIONS",
                      "quarantine_size_mb=1:thread_local_quarantine_size_kb=16"
                      ":malloc_context_size=0")
# Bytes of an input: enough for several of all that the format has.
LENGTHS = {"idx": 512, "safetensors": 1024, "manifest": 1024, "config": 512,
           "vocabulary_json": 512, "vocabulary_lines": 512, "merges": 512,
           "tokenizer_json": 8192,
           "huggingface_config": 512, "huggingface_index": 512, "llmc": 2048,
           "metrics": 512, "order": 512, "wikitext": 128, "lambada": 512,
           "mnli": 512, "qqp": 512, "race": 768, "squad": 1024}


class Reader:
    def __init__(self, program, seeds, name):
        self.name, self.begin, self.seconds = name, time.monotonic(), None
        self.log = os.path.join(seeds, name + ".log")
        found = os.path.join(seeds, name + ".found")
        os.makedirs(found, exist_ok=True)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [program, f"-runs={RUNS}", f"-max_total_time={SECONDS}",
                 f"-max_len={LENGTHS[name]}", "-timeout=0",
                 f"-dict={seeds}/{name}.dict", "-print_final_stats=1",
                 f"-artifact_prefix={seeds}/{name}-",
                 found, os.path.join(seeds, name)],
                env=dict(os.environ, MTLM_FUZZ=name, ASAN_OPTIONS=ASAN),
                stdout=log, stderr=log)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def runs(self):
        text = self.text()
        total = re.findall(r"stat::number_of_executed_units: (\d+)", text)
        return int((total or re.findall(r"^#(\d+)", text, re.M) or [0])[-1])

    def ended(self):
        if self.seconds is None and self.process.poll() is not None:
            self.seconds = time.monotonic() - self.begin
        return self.seconds is not None

    def code(self):
        """Without the corpus it would be easy to find nothing."""
        return (1 if "A corpus is not provided" in self.text()
                else self.process.returncode)

    def result(self):
        covered = re.findall(r"cov: (\d+)", self.text()) or [0]
        return {"runs": self.runs(), "seconds": self.seconds,
                "length": LENGTHS[self.name], "covered": int(covered[-1]),
                "code": self.code(),
                "date": datetime.date.today().isoformat()}

    def line(self):
        runs, spent = self.runs(), self.seconds
        if spent is None:
            spent = time.monotonic() - self.begin
            rest = (RUNS - runs) / max(runs, 1) * spent
            if SECONDS:
                rest = min(rest, SECONDS - spent)
            return (f"{self.name}: {runs} executions, "
                    f"{max(rest, 0) / 60:.1f} min left")
        code = self.code()
        return (f"{self.name}: {runs} executions in {spent:.0f} s, "
                + ("nothing found" if code == 0
                   else f"FOUND something: exit code {code}, see {self.log}"))


def keep(seeds, name, result):
    with open(os.path.join(seeds, name + ".json"), "w",
              encoding="utf-8") as file:
        json.dump(result, file)


def former_rows(path):
    """{reader: row} of the page that is there."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n") for line in file if line.startswith("| ")]
    return {row.split(" | ")[0].removeprefix("| "): row for row in rows}


def newest_row(seeds, name, former, ran):
    """What the reader did last, here or by the row of the page; or None.  ran:
    whether it ran this time.  If not, a row of the same day may be newer: of the
    two, the one with a finding counts."""
    path = os.path.join(seeds, name + ".json")
    if not os.path.exists(path):
        return former
    with open(path, encoding="utf-8") as file:
        r = json.load(file)
    if former:
        date = former.split(" | ")[1]
        if date > r["date"] or (date == r["date"] and not ran and (
                "**yes**" in former or not r["code"])):
            return former
    return (f"| {name} | {r['date']} | {r['length']} | {r['runs']} | "
            f"{r['seconds']:.0f} | {r['covered']} | "
            f"{'**yes**' if r['code'] else 0} |")


def page(seeds, former, ran):
    """former: what former_rows() returns; ran: the readers of this time."""
    lines = ["# Any bytes for what reads files", "",
             "`make fuzz FUZZ='--write DIR'`: libFuzzer with "
             "AddressSanitizer and UBSan; each reader's own corpus, words and "
             "greatest length of an input. Edges: of the code with the "
             "sanitizers' checks, how many a reader's inputs went along. The "
             "machine may have had other work: the times are no measurement. "
             "The figures of a reader are of the code of its date; run again, "
             "it gets new ones. In no target are mtlm-preprocess's reading of "
             "text, --synthetic's clusters and names in the directory of "
             "checkpoints.",
             "",
             "| reader | date | bytes | executions | seconds | edges | "
             "findings |", "|---|---|---|---|---|---|---|"]
    rows = [newest_row(seeds, name, former.get(name), name in ran)
            for name in LENGTHS]
    return "\n".join(lines + [row for row in rows if row]) + "\n"


def run_all(program, seeds, waiting):
    """How many found something."""
    running, bad, shown = [], 0, time.monotonic()
    while waiting or running:
        while waiting and len(running) < JOBS:
            running.append(Reader(program, seeds, waiting.pop(0)))
        time.sleep(0.2)
        for reader in [reader for reader in running if reader.ended()]:
            print(reader.line(), flush=True)
            bad += reader.code() != 0
            keep(seeds, reader.name, reader.result())
            running.remove(reader)
        if time.monotonic() > shown + 15:
            shown = time.monotonic()
            print("; ".join([reader.line() for reader in running]
                            + [f"{len(waiting)} wait"]), flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="DIR", type=directory)
    parser.add_argument("program")
    parser.add_argument("seeds")
    parser.add_argument("reader", nargs="*")
    options = parser.parse_args()
    readers = options.reader or list(LENGTHS)
    bad = run_all(options.program, options.seeds, list(readers))
    if options.write:
        path = os.path.join(options.write, "fuzz.md")
        write({path: page(options.seeds, former_rows(path), readers)})
    sys.exit(bad > 0)


main()
