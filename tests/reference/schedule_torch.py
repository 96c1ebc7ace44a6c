"""Reads orders with torch.distributed.pipelining, as its schedules do.

Usage: schedule_torch.py NAME.RANKS.VIRTUAL_STAGES.MICROBATCHES.csv...
Ends with an error where PyTorch refuses an order, or where its simulation of
the order with messages does not end.
"""

import csv
import sys

from torch.distributed.pipelining import schedules


def check(path):
    ranks, chunks, microbatches = map(int, path.split(".")[-4:-1])
    with open(path, newline="") as file:
        actions = {
            rank: [schedules._Action.from_str(cell) for cell in row]
            for rank, row in enumerate(csv.reader(file))
        }
    stages = ranks * chunks
    rank_of = schedules._validate_schedule(actions, ranks, stages, microbatches)
    found = {
        (a.stage_index, str(a.computation_type.value), a.microbatch_index)
        for row in actions.values()
        for a in row
    }
    for stage in range(stages):
        for microbatch in range(microbatches):
            kinds = {kind for s, kind, m in found if (s, m) == (stage, microbatch)}
            if kinds not in ({"F", "B"}, {"F", "I", "W"}):
                sys.exit(f"{path}: stage {stage}, microbatch {microbatch}: {kinds}")
    messages = schedules._add_send_recv(
        actions, stage_to_rank=lambda s: rank_of[s], num_stages=stages
    )
    schedules._simulate_comms_compute(messages, lambda s: rank_of[s], stages)
    print(f"{path} is sound")


if __name__ == "__main__":
    for path in sys.argv[1:]:
        check(path)
