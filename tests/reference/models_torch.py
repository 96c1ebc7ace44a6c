"""Megatron's GPT and BERT in PyTorch, written independently of ours, as the
reference for losses and gradients.

Parameters have our names, so that state dictionaries fit.  Sources: arXiv
1909.08053 (layers, figure 7), 1810.04805 (BERT), 1909.11942 (sentence order),
and Megatron-LM's behaviour where these leave it open: the QKV rows are
[head][query, key, value][h / heads]; with post_layernorm the residual is the
output of the layernorm; the LM head's GELU is exact; each microbatch's masked
losses are averaged over its own mask; padded keys are not seen.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Options:
    """What the names and shapes of the weights do not tell."""

    def __init__(
        self,
        heads,
        post_layernorm=False,
        exact_gelu=False,
        query_key_scaling=False,
        epsilon=1e-5,
        choices=4,
    ):
        self.heads = heads
        self.post_layernorm = post_layernorm
        self.exact_gelu = exact_gelu
        self.query_key_scaling = query_key_scaling
        self.epsilon = epsilon
        self.choices = choices


# Linear layers of fine-tuning tasks, by which a model shows its task.
CLASSES, CHOICES, SPANS = (
    "classification_head",
    "multichoice_head",
    "qa_outputs",
)


class Attention(nn.Module):
    def __init__(self, h, number, options):
        super().__init__()
        self.heads = options.heads
        self.coefficient = number if options.query_key_scaling else 1
        self.query_key_value = nn.Linear(h, 3 * h)
        self.dense = nn.Linear(h, h)

    def forward(self, x, hidden):
        """hidden [b or 1, s, s]: the keys that a query does not see."""
        b, s, h = x.shape
        width = h // self.heads
        mixed = self.query_key_value(x).view(b, s, self.heads, 3, width)
        q, k, v = (mixed[..., i, :].transpose(1, 2) for i in range(3))
        scores = q @ k.transpose(2, 3) / (math.sqrt(width) * self.coefficient)
        scores = scores.masked_fill(hidden[:, None], -10000.0)
        weights = (scores * self.coefficient).softmax(-1)
        return self.dense((weights @ v).transpose(1, 2).reshape(b, s, h))


class Mlp(nn.Module):
    def __init__(self, h, ffn, options):
        super().__init__()
        self.approximate = "none" if options.exact_gelu else "tanh"
        self.dense_h_to_4h = nn.Linear(h, ffn)
        self.dense_4h_to_h = nn.Linear(ffn, h)

    def forward(self, x):
        return self.dense_4h_to_h(
            F.gelu(self.dense_h_to_4h(x), approximate=self.approximate)
        )


class Layer(nn.Module):
    """number: from 1."""

    def __init__(self, h, ffn, number, options):
        super().__init__()
        self.post_layernorm = options.post_layernorm
        self.input_layernorm = nn.LayerNorm(h, eps=options.epsilon)
        self.self_attention = Attention(h, number, options)
        self.post_attention_layernorm = nn.LayerNorm(h, eps=options.epsilon)
        self.mlp = Mlp(h, ffn, options)

    def forward(self, x, hidden):
        y = self.input_layernorm(x)
        x = (y if self.post_layernorm else x) + self.self_attention(y, hidden)
        y = self.post_attention_layernorm(x)
        return (y if self.post_layernorm else x) + self.mlp(y)


class LmHead(nn.Module):
    """The logits follow from the word embedding and self.bias."""

    def __init__(self, h, vocab, options):
        super().__init__()
        self.dense = nn.Linear(h, h)
        self.layernorm = nn.LayerNorm(h, eps=options.epsilon)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, x, word):
        return self.layernorm(F.gelu(self.dense(x))) @ word.t() + self.bias


class Pooler(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.dense = nn.Linear(h, h)

    def forward(self, x):
        return torch.tanh(self.dense(x[:, 0]))


class Model(nn.Module):
    """A GPT, or a BERT where there are token types; a BERT has an LM head, or
    the head of a fine-tuning task."""

    def __init__(self, names, shapes, options):
        super().__init__()
        vocab, h = shapes["word_embeddings.weight"]
        ffn = shapes["layers.0.mlp.dense_h_to_4h.weight"][0]
        layers = sum(n.endswith(".input_layernorm.weight") for n in names)
        self.word_embeddings = nn.Embedding(vocab, h)
        self.position_embeddings = nn.Embedding(
            shapes["position_embeddings.weight"][0], h
        )
        self.layers = nn.ModuleList(
            Layer(h, ffn, i + 1, options) for i in range(layers)
        )
        self.final_layernorm = nn.LayerNorm(h, eps=options.epsilon)
        self.bert = "tokentype_embeddings.weight" in names
        self.binary = "binary_head.bias" in names
        self.choices = options.choices
        self.task = None
        for task in CLASSES, CHOICES, SPANS:
            if task + ".bias" in names:
                self.task = task
                rows = shapes[task + ".bias"][0]
                self.add_module(task, nn.Linear(h, rows))
        if self.bert:
            self.tokentype_embeddings = nn.Embedding(2, h)
        if "lm_head.bias" in names:
            self.lm_head = LmHead(h, vocab, options)
        if "pooler.dense.bias" in names:
            self.pooler = Pooler(h)
        if self.binary:
            self.binary_head = nn.Linear(h, 2)

    def hidden_keys(self, batch):
        s = batch["tokens"].shape[1]
        if not self.bert:
            return torch.ones(1, s, s, dtype=torch.bool).triu(1)
        return self.padding(batch)[:, None, :].expand(-1, s, s)

    @staticmethod
    def padding(batch):
        s = batch["tokens"].shape[1]
        return torch.arange(s)[None] >= batch["length"].reshape(-1, 1)

    def forward(self, batch):
        """batch: int64 tensors by field.  The losses by name, "lm" and, with
        a binary head, "sop"; "hits" is no loss but the share of right
        answers."""
        if self.task:
            return self.task_losses(self.body(batch), batch)
        logits, answers = self.outputs(batch)
        each = F.cross_entropy(
            logits.flatten(0, 1), batch["labels"].flatten(), reduction="none"
        )
        mask = batch["loss_mask"].flatten().to(each.dtype)
        losses = {"lm": (each * mask).sum() / mask.sum()}
        if self.binary:
            order = batch["order"].flatten()
            losses["sop"] = F.cross_entropy(answers, order)
            losses["hits"] = (answers.argmax(1) == order).double().mean()
        return losses

    def task_losses(self, x, batch):
        """Of Megatron-LM's classification and multiple choice, without their
        dropout, and of BERT's run_squad.py, whose softmax has the padding,
        too."""
        head = getattr(self, self.task)
        if self.task == SPANS:
            padding = self.padding(batch)
            spans = widened(head(x)).unbind(-1)
            spans = [span.masked_fill(padding, -math.inf) for span in spans]
            ends = batch["start"].flatten(), batch["end"].flatten()
            each = [F.cross_entropy(*pair) for pair in zip(spans, ends)]
            return {"lm": sum(each) / 2}
        answers, right = widened(head(self.pooler(x))), batch["class"].flatten()
        if self.task == CHOICES:
            answers = answers.view(-1, self.choices)
            right = right.view(-1, self.choices)[:, 0]
        return {
            "lm": F.cross_entropy(answers, right),
            "hits": (answers.argmax(1) == right).double().mean(),
        }

    def outputs(self, batch):
        """What the losses are of: logits, and answers of a binary head, single
        or double."""
        x, word = self.body(batch), self.word_embeddings.weight
        logits = self.lm_head(x, word) if self.bert else x @ word.t()
        answers = self.binary_head(self.pooler(x)) if self.binary else None
        return widened(logits), widened(answers)

    def body(self, batch):
        """What the heads read."""
        tokens = batch["tokens"]
        x = self.word_embeddings(tokens)
        x = x + self.position_embeddings.weight[: tokens.shape[1]]
        if self.bert:
            x = x + self.tokentype_embeddings(batch["types"])
        hidden = self.hidden_keys(batch)
        for layer in self.layers:
            x = layer(x, hidden)
        return self.final_layernorm(x)


def widened(x):
    return x.float() if x is not None and x.dtype == torch.bfloat16 else x


def load(weights, options, dtype):
    """The model of these weights, numpy arrays by name, vocabulary without
    padding."""
    shapes = {name: array.shape for name, array in weights.items()}
    model = Model(set(weights), shapes, options).to(dtype)
    state = {n: torch.from_numpy(w.copy()) for n, w in weights.items()}
    model.load_state_dict(state, strict=True)
    return model


def total(losses):
    """What the optimizer minimises."""
    return sum(loss for name, loss in losses.items() if name != "hits")


def accumulate(model, microbatches):
    """Adds up the gradients of the mean over microbatches; returns the mean
    losses by name."""
    sums = {}
    for batch in microbatches:
        losses = model(batch)
        (total(losses) / len(microbatches)).backward()
        for name, loss in losses.items():
            sums[name] = sums.get(name, 0) + loss.item() / len(microbatches)
    return sums
