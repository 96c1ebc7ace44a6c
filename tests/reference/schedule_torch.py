"""Orders and torch.distributed.pipelining.

Usage: schedule_torch.py NAME.RANKS.VIRTUAL_STAGES.MICROBATCHES.csv...
       schedule_torch.py --write CLASS.RANKS.VIRTUAL_STAGES.MICROBATCHES...
       schedule_torch.py --same ORDER ORDER...

Reads orders as PyTorch's schedules do.  Ends with an error where PyTorch refuses
an order, or where its simulation of the order with messages does not end.
--write: writes the order of each schedule's class to CLASS...csv, and with
messages to CLASS...comms.csv.  --same: ends with an error unless the files of
each pair have the same F, I and W in the same order.
"""

import csv
import sys

from torch.distributed.pipelining import schedules


def read(path):
    with open(path, newline="") as file:
        return {
            rank: [schedules._Action.from_str(cell) for cell in row if cell]
            for rank, row in enumerate(csv.reader(file))
        }


def passes_of(row):
    """The row with I and W for B, and pairs one after the other."""
    for action in row:
        if action.sub_actions:
            yield from passes_of(action.sub_actions)
        else:
            kind = str(action.computation_type.value)
            for one in "IW" if kind == "B" else kind:
                yield action.stage_index, one, action.microbatch_index


def compare(one, other):
    one, other = read(one), read(other)
    for rank in one:
        if list(passes_of(one[rank])) != list(passes_of(other.get(rank, []))):
            sys.exit(f"rank {rank}: {one[rank]} is not {other.get(rank)}")
    print("the same order")


def check(path):
    ranks, chunks, microbatches = map(int, path.split(".")[-4:-1])
    actions = read(path)
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


class Stage:
    """What the classes of schedules ask a stage for."""

    is_first = is_last = has_backward = True
    group_rank = 0
    submod = None

    def __init__(self, number, ranks, stages):
        self.stage_index = number
        self.group_size = ranks
        self.num_stages = stages


def rows_of(actions):
    return [[str(a or "") for a in actions[rank]] for rank in sorted(actions)]


def write(text):
    name, *sizes = text.split(".")
    ranks, chunks, microbatches = map(int, sizes)
    stages = ranks * chunks
    v = name in ("ScheduleDualPipeV", "ScheduleZBVZeroBubble")
    mine = (0, stages - 1) if v else range(0, stages, ranks)
    schedule = getattr(schedules, name)(
        [Stage(k, ranks, stages) for k in mine], microbatches
    )
    actions = {
        rank: [a for a in row if a is not None]
        for rank, row in schedule.pipeline_order.items()
    }
    rank_of = schedules._validate_schedule(actions, ranks, stages, microbatches)
    messages = schedules._add_send_recv(
        {rank: list(row) for rank, row in actions.items()},
        stage_to_rank=lambda s: rank_of[s],
        num_stages=stages,
    )
    for path, rows in ((f"{text}.csv", actions), (f"{text}.comms.csv", messages)):
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows(rows_of(rows))


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        for text in sys.argv[2:]:
            write(text)
    elif sys.argv[1] == "--same":
        for pair in zip(sys.argv[2::2], sys.argv[3::2]):
            compare(*pair)
    else:
        for path in sys.argv[1:]:
            check(path)
