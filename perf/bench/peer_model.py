"""The same GPT and BERT as fast as PyTorch's operators make them.

Names of parameters are mtlm-dag's.  Written for speed on CPUs: one product
for query, key and value, one pass for mask and scale, the operators that a
version has fused.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

HAS_SDPA = hasattr(F, "scaled_dot_product_attention")


def attention_plain(q, k, v, mask):
    scores = q @ k.transpose(2, 3) * (1 / math.sqrt(q.shape[-1]))
    if mask is not None:
        scores = scores + mask
    return scores.softmax(-1) @ v


def attention_baddbmm(q, k, v, mask):
    """Scale and mask within the product."""
    b, a, s, d = q.shape
    q, k, v = (x.reshape(b * a, s, d) for x in (q, k, v))
    scale = 1 / math.sqrt(d)
    if mask is None:
        scores = torch.baddbmm(
            q.new_empty(1, 1, 1), q, k.transpose(1, 2), beta=0, alpha=scale
        )
    else:
        if mask.shape[0] > 1:
            mask = mask.expand(b, a, s, s).reshape(b * a, s, s)
        else:
            mask = mask[0].expand(b * a, s, s)
        scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=scale)
    return torch.bmm(scores.softmax(-1), v).view(b, a, s, d)


def attention_sdpa(q, k, v, mask):
    """mask "causal", None or to be added."""
    if isinstance(mask, str):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


ATTENTION = {"plain": attention_plain, "baddbmm": attention_baddbmm}
if HAS_SDPA:
    ATTENTION["sdpa"] = attention_sdpa


def causal_mask(s, dtype, sdpa):
    """For attention, [1, 1, s, s] unless that is built in."""
    if sdpa:
        return "causal"
    future = torch.full((s, s), -math.inf, dtype=dtype).triu(1)
    return future[None, None]


class Attention(nn.Module):
    """Rows of query_key_value are [head][query, key, value][h / heads]."""

    def __init__(self, h, heads, kind):
        super().__init__()
        self.heads, self.kind = heads, ATTENTION[kind]
        self.query_key_value = nn.Linear(h, 3 * h)
        self.dense = nn.Linear(h, h)

    def forward(self, x, mask):
        b, s, _ = x.shape
        mixed = self.query_key_value(x).view(b, s, self.heads, 3, -1)
        q, k, v = mixed.permute(3, 0, 2, 1, 4)
        y = self.kind(q, k, v, mask)
        return self.dense(y.transpose(1, 2).reshape(b, s, -1))


class Mlp(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.dense_h_to_4h = nn.Linear(h, 4 * h)
        self.dense_4h_to_h = nn.Linear(4 * h, h)

    def forward(self, x):
        return self.dense_4h_to_h(
            F.gelu(self.dense_h_to_4h(x), approximate="tanh")
        )


def normal(layernorm, x):
    """In the precision of its weights: PyTorch 1.13's autocast leaves x as it
    is."""
    return layernorm(x.to(layernorm.weight.dtype))


def wide(logits):
    """16 bits in fp32: PyTorch rounds a loss to the type of the logits."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class Layer(nn.Module):
    def __init__(self, h, heads, kind):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(h)
        self.self_attention = Attention(h, heads, kind)
        self.post_attention_layernorm = nn.LayerNorm(h)
        self.mlp = Mlp(h)

    def forward(self, x, mask):
        x = x + self.self_attention(normal(self.input_layernorm, x), mask)
        return x + self.mlp(normal(self.post_attention_layernorm, x))


class LmHead(nn.Module):
    def __init__(self, h, vocab):
        super().__init__()
        self.dense = nn.Linear(h, h)
        self.layernorm = nn.LayerNorm(h)
        self.bias = nn.Parameter(torch.empty(vocab))

    def forward(self, x):
        return normal(self.layernorm, F.gelu(self.dense(x)))


class Pooler(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.dense = nn.Linear(h, h)

    def forward(self, x):
        return torch.tanh(self.dense(x))


class Model(nn.Module):
    """sizes: of the case's model (cases.Model)."""

    def __init__(self, sizes, kind):
        super().__init__()
        h, self.bert = sizes.hidden, sizes.bert
        self.sdpa = kind == "sdpa"
        self.word_embeddings = nn.Embedding(sizes.vocab, h)
        self.position_embeddings = nn.Embedding(sizes.positions, h)
        self.layers = nn.ModuleList(
            Layer(h, sizes.heads, kind) for _ in range(sizes.layers)
        )
        self.final_layernorm = nn.LayerNorm(h)
        if self.bert:
            self.tokentype_embeddings = nn.Embedding(2, h)
            self.lm_head = LmHead(h, sizes.vocab)
            self.pooler = Pooler(h)
            self.binary_head = nn.Linear(h, 2)

    def compile_parts(self):
        """Layers one by one: they are alike, so that is quick; and heads with
        the losses as one."""
        for layer in self.layers:
            layer.compile()
        self.losses = torch.compile(self.losses)

    def mask(self, batch, dtype):
        """What is added to the scores, [b or 1, 1, s or 1, s]; None where all
        is seen."""
        s = batch["tokens"].shape[1]
        if not self.bert:
            return causal_mask(s, dtype, self.sdpa)
        length = batch["length"].reshape(-1, 1)
        if bool((length == s).all()):
            return None
        padding = torch.arange(s)[None] >= length
        mask = torch.zeros(padding.shape, dtype=dtype)
        return mask.masked_fill(padding, -10000.0)[:, None, None]

    def forward(self, batch):
        """int64 tensors by field; returns the losses: LM and, for BERT,
        sentence order."""
        tokens = batch["tokens"]
        x = self.word_embeddings(tokens)
        x = x + self.position_embeddings.weight[: tokens.shape[1]]
        if self.bert:
            x = x + self.tokentype_embeddings(batch["types"])
        mask = self.mask(batch, x.dtype)
        for layer in self.layers:
            x = layer(x, mask)
        return self.losses(normal(self.final_layernorm, x), batch)

    def losses(self, x, batch):
        """Heads and losses of the last layer's output."""
        word, labels = self.word_embeddings.weight, batch["labels"].flatten()
        if not self.bert:
            logits = F.linear(x, word).flatten(0, 1)
            return [F.cross_entropy(wide(logits), labels)]
        logits = F.linear(self.lm_head(x), word, self.lm_head.bias)
        # Masked labels are left out, which is less work than a weight of 0.
        labels = labels.masked_fill(batch["loss_mask"].flatten() == 0, -100)
        answers = self.binary_head(self.pooler(x[:, 0]))
        return [
            F.cross_entropy(wide(logits.flatten(0, 1)), labels),
            F.cross_entropy(wide(answers), batch["order"].flatten()),
        ]
