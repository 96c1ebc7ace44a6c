"""A pipeline by torch.distributed.pipelining: its schedules, each with one
stage per process.

PyTorch 2.6 hangs in 1F1B on gloo, for it waits for one of two messages
(PyTorch's issue 132644); that of launch/setup --peers does not."""

import torch
from torch.distributed.pipelining import PipelineStage, schedules

from bench import loops, peer_pipeline


def make(sizes, layout, rank, setting):
    """A loops.Loop."""
    stages = layout["stages"]
    module = peer_pipeline.Stage(sizes, setting["attention"], rank, stages)
    if setting["compiled"]:
        module.compile_parts()
    stage = PipelineStage(module, rank, len(stages), torch.device("cpu"))
    kind = getattr(schedules, loops.SCHEDULES[setting["loop"]])
    several = issubclass(kind, schedules.PipelineScheduleMulti)
    made = {}

    def schedule(count):
        """Of so many microbatches, whose losses are their share of the mean."""
        if count not in made:
            made[count] = kind(
                [stage] if several else stage,
                count,
                lambda x, labels: module.loss(x, labels) / count,
                scale_grads=False,
            )
        return made[count]

    def iterate(batches):
        tokens, labels = (
            torch.cat([batch[name] for batch in batches])
            for name in ("tokens", "labels")
        )
        losses = []
        schedule(len(batches)).step(
            *([tokens] if module.first else []),
            target=labels if module.last else None,
            losses=losses,
            return_outputs=False,
        )
        peer_pipeline.share_embeddings(module, len(stages))
        return sum((loss.detach() for loss in losses), torch.zeros(()))

    return loops.Loop(module, iterate)
