#!/usr/bin/python3
"""The published schedules of docs/schedules.md: rows of its table, and pictures.

    docs/pictures/published.py [--draw] [BUILD]  # BUILD has mtlm-dag: build

Plans of 4 ranks and 8 microbatches; F, B and W of a rank take 1 s each, messages
no time.  A plan knows no machine.  --draw makes the pictures of plans, too.
"""

import os
import re
import subprocess
import sys
import tempfile

P, M = 4, 8

# Name, virtual stages of a rank, makespan by the formula of the source: None:
# the source has no formula.
SCHEDULES = [
    ("gpipe", 1, 3 * (M + P - 1)),
    ("1f1b", 1, 3 * (M + P - 1)),
    ("interleaved", 2, 3 * M + 3 * (P - 1) / 2),
    ("breadth-first", 2, 3 * M + 3 * (P - 1) / 2),
    ("zb-h1", 1, 3 * M + P - 1),
    ("zb-h2", 1, 3 * M),
    ("zb-1p", 1, None),
    ("zb-2p", 1, None),
    ("zb-v", 2, 3 * M + (P - 1) / 2),
    ("v-half", 2, None),
    ("v-min", 2, None),
    ("dualpipe-v", 2, None),
]
# Orders of the others arise without a mode.
FOLLOWED = {"breadth-first", "zb-1p", "zb-2p", "v-half", "v-min", "dualpipe-v"}
V_SHAPED = {"zb-v", "v-half", "v-min", "dualpipe-v"}
DRAWN = {"breadth-first", "zb-h2", "v-half", "dualpipe-v"}


def number(value):
    return f"{value:.4g}"


def plan(program, name, chunks, mode, picture=None):
    """What --dry-run prints."""
    with tempfile.TemporaryDirectory() as work:
        each = 1000 / chunks
        with open(os.path.join(work, "equal.ini"), "w",
                  encoding="ascii") as times:
            times.write(f"[stage 0-{P * chunks - 1}]\nforward_ms = {each}\n"
                        f"backward_ms = {each}\nweight_ms = {each}\n")
        return subprocess.run(
            [program, "--model", "gpt-tiny", "--num-layers", str(2 * P),
             "--micro-batch-size", "1", "--global-batch-size", str(M),
             "--workers", "1", "--pipeline-model-parallel-size", str(P),
             "--num-virtual-stages-per-pipeline-rank", str(chunks),
             "--stage-times", "equal.ini", "--schedule", name, "--dry-run"]
            + (["--schedule-mode", mode] if mode else [])
            + (["--svg", picture] if picture else []),
            check=True, capture_output=True, text=True, cwd=work).stdout


def slots_of(windows, name, chunks):
    """The slots of the fullest rank, in microbatches of a rank."""
    ranks = [0] * P
    for k, window in enumerate(windows):
        at = 2 * P - 1 - k if name in V_SHAPED and k >= P else k % P
        ranks[at] += sum(map(int, window.split("+"))) / chunks
    return max(ranks)


def figures(text, name, chunks):
    """Makespan, idle share and slots."""
    makespan = re.search(r": ([\d.]+) s an iteration", text).group(1)
    idle = re.search(r"bubble\s+([\d.]+) % of all ranks", text).group(1)
    windows = re.search(r"^windows +((?:[\d+]+ )+)microbatches", text, re.M)
    slots = slots_of(windows.group(1).split(), name, chunks)
    return f"{makespan} s, {float(idle):.1f} %, {number(slots)}"


def main():
    draw = sys.argv[1:2] == ["--draw"]
    build = (sys.argv[1 + draw:] or ["build"])[0]
    program = os.path.abspath(os.path.join(build, "mtlm-dag"))
    here = os.path.dirname(os.path.abspath(__file__))
    for name, chunks, formula in SCHEDULES:
        picture = os.path.join(here, name + ".svg")
        strict = plan(program, name, chunks, "strict",
                      picture if draw and name in DRAWN else None)
        emergent = plan(program, name, chunks,
                        "windows" if name in FOLLOWED else None)
        print(f"| `{name}` |", f"{number(formula)} s" if formula else "-",
              "|", figures(strict, name, chunks),
              "|", figures(emergent, name, chunks), "|")


main()
