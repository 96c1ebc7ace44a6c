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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "..", "perf"))

from bench import published  # noqa: E402

P, M = 4, 8
DRAWN = {"breadth-first", "zb-h2", "v-half", "dualpipe-v"}


def number(value):
    return f"{value:.4g}"


def seconds(value):
    return "-" if value is None else f"{number(value)} s"


def plan(program, schedule, mode, picture=None):
    """What --dry-run prints."""
    with tempfile.TemporaryDirectory() as work:
        each = 1000 / schedule.v
        with open(os.path.join(work, "equal.ini"), "w",
                  encoding="ascii") as times:
            times.write(f"[stage 0-{P * schedule.v - 1}]\n"
                        f"forward_ms = {each}\nbackward_ms = {each}\n"
                        f"weight_ms = {each}\n")
        return subprocess.run(
            [program, "--model", "gpt-tiny", "--num-layers", str(2 * P),
             "--micro-batch-size", "1", "--global-batch-size", str(M),
             "--workers", "1", "--pipeline-model-parallel-size", str(P),
             "--stage-times", "equal.ini", "--dry-run"]
            + schedule.options(mode) + (["--svg", picture] if picture else []),
            check=True, capture_output=True, text=True, cwd=work,
            env=dict(os.environ, STARPU_SCHED="prio")).stdout


def slots_of(text, schedule):
    """The slots of the fullest rank, in microbatches of a rank."""
    slots = re.search(r"^slots +((?:[\d+]+ )+)of ranks", text, re.M)
    if slots:
        return max(sum(map(int, rank.split("+"))) / schedule.v
                   for rank in slots.group(1).split())
    windows = re.search(r"^windows +((?:[\d+]+ )+)microbatches", text, re.M)
    windows = windows.group(1).split()
    ranks = [0] * P
    for k, window in enumerate(windows):
        at = 2 * P - 1 - k if schedule.v_shaped and k >= P else k % P
        ranks[at] += sum(map(int, window.split("+"))) / schedule.v
    return max(ranks)


def figures(text, schedule):
    """Makespan, idle share and slots."""
    makespan = re.search(r": ([\d.]+) s an iteration", text).group(1)
    idle = re.search(r"bubble\s+([\d.]+) % of all ranks", text).group(1)
    slots = slots_of(text, schedule)
    return f"{makespan} s, {float(idle):.1f} %, {number(slots)}"


def main():
    draw = sys.argv[1:2] == ["--draw"]
    build = (sys.argv[1 + draw:] or ["build"])[0]
    program = os.path.abspath(os.path.join(build, "mtlm-dag"))
    for schedule in published.SCHEDULES:
        drawn = draw and schedule.name in DRAWN
        picture = os.path.join(HERE, schedule.name + ".svg")
        strict = plan(program, schedule, "strict", picture if drawn else None)
        print(f"| `{schedule.name}` |",
              seconds(schedule.makespan(P, M, (1, 1, 1))),
              "|", seconds(schedule.stated_makespan(P, M)),
              "|", figures(strict, schedule),
              "|", figures(plan(program, schedule, "emergent"), schedule), "|")


main()
