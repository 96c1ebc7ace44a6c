"""Loops of PyTorch that train a layout: which there are, by name, and what
each is made of.  No PyTorch here."""

import dataclasses
import importlib
import typing

# The class of torch.distributed.pipelining.
SCHEDULES = {
    "torch GPipe": "ScheduleGPipe",
    "torch 1F1B": "Schedule1F1B",
    "torch zero bubble": "ScheduleInterleavedZeroBubble",
}
# A setting that compiles has its fused operations.
MEGATRON = "megatron-core"
# Written here; DistributedDataParallel.
PIPELINE, TENSOR, REPLICAS = "own 1F1B", "own", "DDP"

# The module of perf/bench that makes the loop.
MODULES = {
    PIPELINE: "peer_pipeline",
    TENSOR: "peer_tensor",
    REPLICAS: "peer_replicas",
    MEGATRON: "peer_megatron",
    **dict.fromkeys(SCHEDULES, "peer_pipelining"),
}


@dataclasses.dataclass
class Loop:
    """What a rank trains with.  iterate(microbatches) accumulates the gradients
    of an iteration; it returns the mean loss, 0 on ranks that do not know it.
    part(name, weights): what the model's parameter has of {name: array} of the
    whole model in mtlm-dag's names."""

    model: typing.Any
    iterate: typing.Callable
    part: typing.Callable = lambda name, weights: weights[name]


def make(sizes, layout, rank, setting):
    """The Loop of a setting: {loop, attention, compiled}; layout:
    layouts.Layout.peer()."""
    # Not every PyTorch has what each needs.
    module = importlib.import_module("bench." + MODULES[setting["loop"]])
    return module.make(sizes, layout, rank, setting)


def first(layout):
    """The loop that every PyTorch runs."""
    if layout.replicas > 1:
        return REPLICAS
    return TENSOR if layout.tensor > 1 else PIPELINE


def names(layout, about):
    """Those that a PyTorch has for a layout; about: what it says of itself."""
    found = [first(layout)]
    if len(layout.stages) > 1 and about["pipelining"]:
        found += SCHEDULES
    return found + [MEGATRON] * bool(about["megatron"])


def compiles(loop, about):
    """Whether torch.compile() takes it: no product with an all-reduce of its
    own, and no backward pass that PyTorch cuts in two."""
    return about["compiles"] and loop not in (TENSOR, "torch zero bubble")
