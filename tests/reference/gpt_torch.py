"""A GPT in PyTorch, written independently of ours, against what
`mtlm-dag --dump-first-step DIR` wrote: the loss and every gradient.

Usage: gpt_torch.py --heads A --vocab V --micro-batch B NAME=DIR...

Each DIR holds the files of one layout's ranks; all must start from the same
weights and samples.  The reference is PyTorch in float64.  Bounds:

  loss       within 1e-6 of it, relatively
  gradient   ||g - g64|| <= max(5e-6 ||g64||, 1e-7 ||all gradients||), and
             <= 2 max(||g32 - g64||, NOISE ||g64||) with g32 PyTorch's own in
             float32.  NOISE is one unit in the last place of a float: below
             that PyTorch's error says more about its luck than about ours.
"""

import argparse
import glob
import json
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

LOSS_BOUND = 1e-6
GRADIENT_BOUND = 5e-6
FLOOR = 1e-7
TORCH_FACTOR = 2
NOISE = 2.0**-23
WORST_SHOWN = 6
FIELDS = "tokens", "labels", "loss_mask", "types", "length", "order"


def read_safetensors(path):
    """Returns {name: array} and {name: (first row, first column)}."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    first = {
        key[: -len(".first")]: tuple(map(int, value.split()))
        for key, value in header.pop("__metadata__", {}).items()
        if key.endswith(".first")
    }
    types = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], types[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors, first


def assemble(directory):
    """Whole tensors out of the shards of all ranks; what several ranks hold
    must be the same on each."""
    paths = sorted(glob.glob(directory + "/rank-*.safetensors"))
    if not paths:
        sys.exit(f"{directory}: no rank-*.safetensors")
    parts = {}
    for path in paths:
        tensors, first = read_safetensors(path)
        for name, array in tensors.items():
            parts.setdefault(name, []).append((first.get(name), array))
    whole = {}
    for name, pieces in parts.items():
        corners = {corner for corner, _ in pieces}
        by_corner = {corner: array for corner, array in pieces}
        for corner, array in pieces:
            if not np.array_equal(array, by_corner[corner]):
                sys.exit(f"{directory}: ranks disagree about {name}")
        if len(corners) == 1:
            whole[name] = pieces[0][1]
            continue
        flat = pieces[0][1].ndim == 1
        full = [0, 0]
        for (row, col), array in by_corner.items():
            shape = array.reshape(len(array), -1).shape
            full = [max(full[0], row + shape[0]), max(full[1], col + shape[1])]
        out = np.full(full, np.nan, pieces[0][1].dtype)
        for (row, col), array in by_corner.items():
            block = array.reshape(len(array), -1)
            out[row : row + block.shape[0], col : col + block.shape[1]] = block
        if np.isnan(out).any():
            sys.exit(f"{directory}: {name} has holes")
        whole[name] = out[:, 0] if flat else out
    return whole


class Attention(nn.Module):
    """Rows of query_key_value are [head][query, key, value][h / heads]."""

    def __init__(self, h, heads):
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(h, 3 * h)
        self.dense = nn.Linear(h, h)

    def forward(self, x):
        b, s, h = x.shape
        width = h // self.heads
        mixed = self.query_key_value(x).view(b, s, self.heads, 3, width)
        q, k, v = (mixed[..., i, :].transpose(1, 2) for i in range(3))
        scores = q @ k.transpose(2, 3) / math.sqrt(width)
        future = torch.ones(s, s, dtype=torch.bool).triu(1)
        probabilities = scores.masked_fill(future, -math.inf).softmax(-1)
        return self.dense((probabilities @ v).transpose(1, 2).reshape(b, s, h))


class Mlp(nn.Module):
    def __init__(self, h, ffn):
        super().__init__()
        self.dense_h_to_4h = nn.Linear(h, ffn)
        self.dense_4h_to_h = nn.Linear(ffn, h)

    def forward(self, x):
        return self.dense_4h_to_h(
            F.gelu(self.dense_h_to_4h(x), approximate="tanh")
        )


class Layer(nn.Module):
    def __init__(self, h, heads, ffn):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(h, eps=1e-5)
        self.self_attention = Attention(h, heads)
        self.post_attention_layernorm = nn.LayerNorm(h, eps=1e-5)
        self.mlp = Mlp(h, ffn)

    def forward(self, x):
        x = x + self.self_attention(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Gpt(nn.Module):
    def __init__(self, layers, h, heads, ffn, positions, vocab):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, h)
        self.position_embeddings = nn.Embedding(positions, h)
        self.layers = nn.ModuleList(Layer(h, heads, ffn) for _ in range(layers))
        self.final_layernorm = nn.LayerNorm(h, eps=1e-5)

    def forward(self, tokens, labels):
        x = self.word_embeddings(tokens)
        x = x + self.position_embeddings.weight[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        logits = self.final_layernorm(x) @ self.word_embeddings.weight.t()
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def run_torch(weights, batch, heads, micro_batch, dtype):
    """The loss and {name: gradient}, summed up over microbatches in dtype."""
    layers = sum(n.endswith(".input_layernorm.weight") for n in weights)
    ffn, h = weights["layers.0.mlp.dense_h_to_4h.weight"].shape
    model = Gpt(
        layers,
        h,
        heads,
        ffn,
        len(weights["position_embeddings.weight"]),
        len(weights["word_embeddings.weight"]),
    ).to(dtype)
    state = {n: torch.from_numpy(w.copy()) for n, w in weights.items()}
    model.load_state_dict(state, strict=True)
    fields = [
        torch.from_numpy(batch[name].astype(np.int64)).split(micro_batch)
        for name in ("tokens", "labels")
    ]
    total = 0.0
    for tokens, labels in zip(*fields):
        loss = model(tokens, labels) / len(fields[0])
        loss.backward()
        total += loss.item()
    gradients = {
        n: p.grad.double().numpy() for n, p in model.named_parameters()
    }
    return total, gradients


class Reference:
    """PyTorch's results for one set of weights and samples."""

    def __init__(self, weights, batch, options):
        self.weights, self.batch = weights, batch
        arguments = weights, batch, options.heads, options.micro_batch
        self.loss, self.gradients = run_torch(*arguments, torch.float64)
        self.loss32, gradients32 = run_torch(*arguments, torch.float32)
        self.norm = math.sqrt(
            sum(np.sum(g * g) for g in self.gradients.values())
        )
        self.error32 = {
            n: np.linalg.norm(gradients32[n] - g)
            for n, g in self.gradients.items()
        }

    def is_of(self, weights, batch):
        return all(
            np.array_equal(ours[n], theirs)
            for ours, other in ((weights, self.weights), (batch, self.batch))
            for n, theirs in other.items()
        )


def split(dump, vocab):
    """Weights, gradients without the vocabulary's padding, the fields of the
    samples, and the rest."""
    weights, gradients, batch, rest = {}, {}, {}, {}
    for name, array in dump.items():
        if name in FIELDS:
            batch[name] = array
        elif name in ("loss", "grad_norm"):
            rest[name] = array
        elif name.endswith(".grad"):
            gradients[name[: -len(".grad")]] = array.astype(np.float64)
        else:
            weights[name] = array
    word = "word_embeddings.weight"
    rest["padding"] = np.abs(gradients[word][vocab:]).max(initial=0)
    weights[word], gradients[word] = weights[word][:vocab], gradients[word][:vocab]
    return weights, gradients, batch, rest


def check(name, gradients, rest, reference):
    """Prints what was found; returns the number of failures."""
    rows, failures = [], 0
    for tensor, want in reference.gradients.items():
        error = np.linalg.norm(gradients[tensor] - want)
        size = np.linalg.norm(want)
        bound = max(GRADIENT_BOUND * size, FLOOR * reference.norm)
        own = max(reference.error32[tensor], NOISE * size)
        share = error / (TORCH_FACTOR * own)
        good = error <= bound and share <= 1
        failures += not good
        rows.append((share, error / size, own / size, good, tensor))
    rows.sort(reverse=True)
    print(f"{name}: the worst of {len(rows)} tensors")
    print("  error      PyTorch's  share of the bound")
    for share, error, own, good, tensor in rows[:WORST_SHOWN]:
        verdict = "" if good else "  FAILED"
        print(f"  {error:.2e}   {own:.2e}   {share:.2f}  {tensor}{verdict}")
    worst = max(row[1] for row in rows)
    loss = abs(rest["loss"] / reference.loss - 1)
    norm = abs(rest["grad_norm"] / reference.norm - 1)
    print(f"  largest error {worst:.2e}, loss {loss:.2e}, norm {norm:.2e}")
    for what, value, bound in (
        ("the loss", loss, LOSS_BOUND),
        ("the norm", norm, LOSS_BOUND),
        ("the padding's gradient", rest["padding"], 0),
    ):
        if not value <= bound:
            print(f"  FAILED: {what} is off by {value:.2e}")
            failures += 1
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--vocab", type=int, required=True)
    parser.add_argument("--micro-batch", type=int, required=True)
    parser.add_argument("dumps", nargs="+", metavar="NAME=DIR")
    options = parser.parse_args()
    torch.set_num_threads(1)
    reference, failures = None, 0
    for dump in options.dumps:
        name, directory = dump.split("=", 1)
        weights, gradients, batch, rest = split(
            assemble(directory), options.vocab
        )
        if reference is None:
            reference = Reference(weights, batch, options)
        if not reference.is_of(weights, batch):
            sys.exit(f"{name}: other weights or samples than before")
        failures += check(name, gradients, rest, reference)
    print(f"{len(options.dumps)} layouts, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
