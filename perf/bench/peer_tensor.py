"""Tensor parallelism in PyTorch, as Megatron-LM has it: columns of the first
product of a pair, rows of the second, an all-reduce after the pair, and one
before it on the way back, under which the weight gradient is computed; the
vocabulary is split, and so is the cross-entropy."""

import torch
from torch import distributed, nn
from torch.autograd import Function

from bench import loops, peer_model
from torch.nn import functional as F


class ColumnProduct(Function):
    """x [..., k], the same on all ranks, times rows of the weight."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        rows = dy.reshape(-1, dy.shape[-1])
        dx = rows @ weight
        sum_of_ranks = distributed.all_reduce(dx, async_op=True)
        dw = rows.t() @ x.reshape(-1, x.shape[-1])
        db = rows.sum(0) if ctx.biased else None
        sum_of_ranks.wait()
        return dx.view(x.shape), dw, db


class SumOfRanks(Function):
    """Adds up, in place; on the way back all have the whole gradient."""

    @staticmethod
    def forward(ctx, x):
        distributed.all_reduce(x)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, dy):
        return dy


class CrossEntropy(Function):
    """Mean over the rows of logits [rows, vocab / ranks], which are
    overwritten; labels [rows] count over the whole vocabulary."""

    @staticmethod
    def forward(ctx, logits, labels, first):
        greatest = logits.max(-1).values
        distributed.all_reduce(greatest, distributed.ReduceOp.MAX)
        logits.sub_(greatest[:, None])
        labels = labels - first
        others = (labels < 0) | (labels >= logits.shape[1])
        labels = labels.masked_fill(others, 0)[:, None]
        mine = logits.gather(1, labels)[:, 0].masked_fill_(others, 0)
        logits.exp_()
        sums = torch.stack([logits.sum(-1), mine])
        distributed.all_reduce(sums)
        logits.div_(sums[0][:, None])
        ctx.save_for_backward(logits, labels, others)
        return (sums[0].log() - sums[1]).mean()

    @staticmethod
    def backward(ctx, dloss):
        shares, labels, others = ctx.saved_tensors
        shares.scatter_add_(
            1, labels, -(~others).to(shares.dtype)[:, None]
        )
        return shares.mul_(dloss / len(shares)), None, None


class Column(nn.Linear):
    """out: of this rank."""

    def forward(self, x):
        return ColumnProduct.apply(x, self.weight, self.bias)


class Row(nn.Linear):
    """into: of this rank."""

    def forward(self, x):
        return SumOfRanks.apply(F.linear(x, self.weight)) + self.bias


def split(layer, h, ranks):
    """This rank's part of a whole layer."""
    attention, mlp = layer.self_attention, layer.mlp
    attention.heads //= ranks
    attention.query_key_value = Column(h, 3 * h // ranks)
    attention.dense = Row(h // ranks, h)
    mlp.dense_h_to_4h = Column(h, 4 * h // ranks)
    mlp.dense_4h_to_h = Row(4 * h // ranks, h)
    return layer


class Model(nn.Module):
    """A GPT (sizes: cases.Model), of which every rank has a part."""

    def __init__(self, sizes, kind, rank, ranks):
        super().__init__()
        h = sizes.hidden
        self.sdpa = kind == "sdpa"
        self.rows = sizes.vocab // ranks
        self.first = rank * self.rows
        self.word_embeddings = nn.Embedding(self.rows, h)
        self.position_embeddings = nn.Embedding(sizes.positions, h)
        self.layers = nn.ModuleList(
            split(peer_model.Layer(h, sizes.heads, kind), h, ranks)
            for _ in range(sizes.layers)
        )
        self.final_layernorm = nn.LayerNorm(h)

    def embed(self, tokens):
        tokens = tokens - self.first
        others = (tokens < 0) | (tokens >= self.rows)
        x = self.word_embeddings(tokens.masked_fill(others, 0))
        return SumOfRanks.apply(x.masked_fill(others[..., None], 0))

    def forward(self, batch):
        tokens = batch["tokens"]
        x = self.embed(tokens)
        x = x + self.position_embeddings.weight[: tokens.shape[1]]
        mask = peer_model.causal_mask(x.shape[1], x.dtype, self.sdpa)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.final_layernorm(x).flatten(0, 1)
        logits = ColumnProduct.apply(x, self.word_embeddings.weight, None)
        return CrossEntropy.apply(
            logits, batch["labels"].flatten(), self.first
        )


# Dimension along which a parameter is split, by the end of its name.
SPLIT = {
    "word_embeddings.weight": 0,
    "query_key_value.weight": 0,
    "query_key_value.bias": 0,
    "dense_h_to_4h.weight": 0,
    "dense_h_to_4h.bias": 0,
    "self_attention.dense.weight": 1,
    "dense_4h_to_h.weight": 1,
}


def part(name, whole, rank, ranks):
    """This rank's part of an array or tensor that is a parameter."""
    for end, dim in SPLIT.items():
        if name.endswith(end):
            each = whole.shape[dim] // ranks
            mine = slice(rank * each, (rank + 1) * each)
            return whole[mine] if dim == 0 else whole[:, mine]
    return whole


def iterate(model, batches):
    """As loops.Loop.iterate()."""
    total = torch.zeros(())
    for batch in batches:
        loss = model(batch) / len(batches)
        loss.backward()
        total = total + loss.detach()
    return total


def make(sizes, layout, rank, setting):
    """A loops.Loop."""
    ranks = layout["tensor"]
    model = Model(sizes, setting["attention"], rank, ranks)
    return loops.Loop(
        model,
        lambda batches: iterate(model, batches),
        lambda name, weights: part(name, weights[name], rank, ranks),
    )
