"""How two processes share a model.  No PyTorch here."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Layout:
    """tensor processes share each layer; or one process per stage of so many
    layers; or each of the replicas has the whole model and its share of the
    microbatches.  schedule: ours, where the default is not the right one."""

    name: str
    tensor: int = 1
    stages: tuple = (12,)
    replicas: int = 1
    schedule: str | None = None

    @property
    def ranks(self):
        return self.tensor * len(self.stages) * self.replicas

    @property
    def even(self):
        return len(set(self.stages)) == 1

    def options(self):
        """mtlm-dag's, which derives the replicas from the processes."""
        more = []
        if not self.even:
            more = ["--stage-layers", ",".join(map(str, self.stages))]
        if self.schedule:
            more += ["--schedule", self.schedule]
        return [
            *("--tensor-model-parallel-size", str(self.tensor)),
            *("--pipeline-model-parallel-size", str(len(self.stages))),
            *more,
        ]

    def peer(self):
        """What peer.py is told."""
        return {
            "tensor": self.tensor,
            "stages": self.stages,
            "replicas": self.replicas,
        }


# The last stage has the output layer, which takes as long as five to six
# layers of this model.  In the memory of 1F1B no schedule of nine and three
# layers comes nearer than 6 % to what the stages must take.
LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("P2", stages=(6, 6)),
        Layout("P2-9-3", stages=(9, 3), schedule="zb-2p"),
        Layout("T2", tensor=2),
        Layout("D2", replicas=2),
    )
}


def one_f_one_b(rank, ranks, microbatches):
    """[("F" or "B", microbatch)]: the order of Megatron-LM's 1F1B."""
    ahead = min(microbatches, ranks - rank - 1)
    order = [("F", i) for i in range(ahead)]
    for i in range(microbatches - ahead):
        order += [("F", ahead + i), ("B", i)]
    return order + [
        ("B", i) for i in range(microbatches - ahead, microbatches)
    ]
