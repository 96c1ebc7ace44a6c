"""A pipeline in PyTorch: a stage per process, 1F1B as Megatron-LM has it.

Every receive of an iteration is posted before its first microbatch, so that
nobody waits for another to be ready; sends complete whenever they do.
"""

import torch
from torch import distributed, nn

from bench import layouts, loops, peer_model
from torch.nn import functional as F


class Stage(nn.Module):
    """This rank's layers of a GPT (sizes: cases.Model), named as in the whole
    model; the last stage has a copy of the word embeddings."""

    def __init__(self, sizes, kind, rank, stages):
        super().__init__()
        first = sum(stages[:rank])
        self.hidden = h = sizes.hidden
        self.first, self.last = rank == 0, rank + 1 == len(stages)
        self.sdpa = kind == "sdpa"
        if self.first or self.last:
            self.word_embeddings = nn.Embedding(sizes.vocab, h)
        if self.first:
            self.position_embeddings = nn.Embedding(sizes.positions, h)
        self.layers = nn.ModuleDict(
            {
                str(first + i): peer_model.Layer(h, sizes.heads, kind)
                for i in range(stages[rank])
            }
        )
        if self.last:
            self.final_layernorm = nn.LayerNorm(h)

    def compile_parts(self):
        """As peer_model.Model's."""
        for layer in self.layers.values():
            layer.compile()
        self.loss = torch.compile(self.loss)

    def forward(self, x):
        """x: tokens, or from the stage before.  Returns what the next one gets,
        or what loss() takes."""
        if self.first:
            positions = self.position_embeddings.weight[: x.shape[1]]
            x = self.word_embeddings(x) + positions
        mask = peer_model.causal_mask(x.shape[1], x.dtype, self.sdpa)
        for layer in self.layers.values():
            x = layer(x, mask)
        return self.final_layernorm(x) if self.last else x

    def loss(self, x, labels):
        logits = F.linear(x, self.word_embeddings.weight).flatten(0, 1)
        return F.cross_entropy(logits, labels.flatten())


class Messages:
    """Of one iteration: boundaries [micro batch, sequence, hidden]."""

    def __init__(self, stage, rank, microbatches, shape, dtype):
        def expect(peer):
            buffers = [
                torch.empty(shape, dtype=dtype) for _ in range(microbatches)
            ]
            return [
                (buffer, distributed.irecv(buffer, peer, tag=i))
                for i, buffer in enumerate(buffers)
            ]

        self.rank, self.sends = rank, []
        self.inputs = None if stage.first else expect(rank - 1)
        self.gradients = None if stage.last else expect(rank + 1)

    @staticmethod
    def receive(expected, i):
        buffer, request = expected[i]
        request.wait()
        return buffer

    def send(self, tensor, peer, i):
        # The tensor stays where it is until the end of the iteration.
        self.sends.append((tensor, distributed.isend(tensor, peer, tag=i)))

    def finish(self):
        for _, request in self.sends:
            request.wait()


def share_embeddings(stage, ranks):
    """First and last stage add up the gradients of their copies."""
    if ranks == 1:
        return
    if ranks > 2:
        raise ValueError("first and last stage need a group of their own")
    distributed.all_reduce(stage.word_embeddings.weight.grad)


def iterate(stage, rank, ranks, batches):
    """As loops.Loop.iterate()."""
    count, total = len(batches), torch.zeros(())
    dtype = next(stage.parameters()).dtype
    shape = *batches[0]["tokens"].shape, stage.hidden
    messages = Messages(stage, rank, count, shape, dtype)
    held = {}
    for what, i in layouts.one_f_one_b(rank, ranks, count):
        if what == "F":
            x = batches[i]["tokens"]
            if not stage.first:
                x = messages.receive(messages.inputs, i).requires_grad_()
            y = stage(x)
            if stage.last:
                y = stage.loss(y, batches[i]["labels"]) / count
                total = total + y.detach()
            else:
                messages.send(y.detach(), rank + 1, i)
            held[i] = x, y
        else:
            x, y = held.pop(i)
            y.backward(
                None if stage.last else messages.receive(messages.gradients, i)
            )
            if not stage.first:
                messages.send(x.grad, rank - 1, i)
    share_embeddings(stage, ranks)
    messages.finish()
    return total


def make(sizes, layout, rank, setting):
    """A loops.Loop."""
    stages = layout["stages"]
    stage = Stage(sizes, setting["attention"], rank, stages)
    if setting["compiled"]:
        stage.compile_parts()
    return loops.Loop(
        stage, lambda batches: iterate(stage, rank, len(stages), batches)
    )
