"""Trains a case in several processes of PyTorch that share the model: the
part of peer.py that knows layouts."""

import time

import torch
from torch import distributed

from bench import loops, peer


def gather(rows, ranks):
    """[ranks][iterations] of lists of numbers."""
    mine = torch.tensor(rows, dtype=torch.float64)
    every = [torch.empty_like(mine) for _ in range(ranks)]
    distributed.all_gather(every, mine)
    return [x.tolist() for x in every]


def say_all(rows, ranks, know, peaks):
    """rows: per iteration end, CPU, switches and loss of this rank, the state
    before the first one included; know: so many ranks know a loss.  An
    iteration lasts until the last rank's end, as in mtlm-dag's log, whose last
    rank prints."""
    every = gather(rows, ranks)
    peak = sum(x[0][0] for x in gather([[peaks]], ranks))
    if distributed.get_rank() != 0:
        return
    for i in range(1, len(rows)):
        before, after = [r[i - 1] for r in every], [r[i] for r in every]
        peer.say(
            seconds=max(a[0] for a in after) - max(b[0] for b in before),
            losses=[sum(a[3] for a in after) / know],
            cpu=sum(a[1] - b[1] for a, b in zip(after, before)),
            switches=sum(a[2] - b[2] for a, b in zip(after, before)),
        )
    peer.say(peak_bytes=int(peak))


def train(options, case):
    rank, ranks, layout = options["rank"], options["ranks"], options["layout"]
    replicas = layout["replicas"]
    loop = loops.make(case.model, layout, rank, options)
    peer.load(loop.model, options["weights"], loop.part)
    peer.forget_peak()
    adam = peer.optimizer(loop.model.parameters(), options["adam"])
    samples = peer.Samples(
        options["samples"], case, rank if replicas > 1 else 0, replicas
    )
    distributed.barrier()
    # Nothing but training makes the ranks wait for each other from here on.
    rows = [[time.monotonic(), *peer.usage(), 0]]
    for i in range(options["iterations"]):
        adam.zero_grad(set_to_none=True)
        loss = loop.iterate(samples.microbatches(i))
        adam.step()
        rows.append([time.monotonic(), *peer.usage(), loss.item()])
        if rank == 0:
            peer.say(ended=i)
    say_all(rows, ranks, layout["tensor"] * replicas, peer.peak_bytes())
