"""The heads of fine-tuning tasks in PyTorch (models_torch.py), in float64,
against what tests/graph/task_values wrote: loss, right answers and every
gradient.

Usage: tasks_torch.py FILE...

A file's weights show the task.  Bounds, of what is computed in double: 1e-10 of
the loss, and of each gradient's norm; a gradient that is zero but for rounding
(the bias of keys, of a score that all choices share) to 1e-12 of all gradients'
norm.
"""

import math
import sys

import numpy as np
import torch

from dump_files import read_safetensors
from models_torch import Options, accumulate, load

HEADS, MICROBATCHES, CHOICES = 4, 2, 3
FIELDS = "tokens", "types", "length", "class", "start", "end"
BOUND, FLOOR = 1e-10, 1e-12


def check(path):
    """Returns the number of failures."""
    tensors, _ = read_safetensors(path)
    known = {*FIELDS, "loss", "hits"}
    gradients = {n[:-5]: t for n, t in tensors.items() if n.endswith(".grad")}
    weights = {n: tensors[n] for n in gradients}
    if set(tensors) != {*known, *weights, *(n + ".grad" for n in weights)}:
        sys.exit(f"{path}: tensors of no use")
    options = Options(
        HEADS, post_layernorm="spans-" in path, choices=CHOICES
    )
    model = load(weights, options, torch.float64)
    fields = {n: torch.from_numpy(tensors[n].astype(np.int64)) for n in FIELDS}
    size = len(fields["tokens"]) // MICROBATCHES
    losses = accumulate(
        model,
        [
            {n: f[i * size : (i + 1) * size] for n, f in fields.items()}
            for i in range(MICROBATCHES)
        ],
    )
    want = {n: p.grad.numpy() for n, p in model.named_parameters()}
    everything = math.sqrt(sum(np.sum(g * g) for g in want.values()))
    worst, failures = 0, 0
    for name, gradient in want.items():
        error = np.linalg.norm(gradients[name] - gradient)
        share = error / max(
            BOUND * np.linalg.norm(gradient), FLOOR * everything
        )
        worst = max(worst, share)
        if not share <= 1:
            print(f"  FAILED: {name} is off by {error:.2e}")
            failures += 1
    loss = abs(tensors["loss"] / losses["lm"] - 1)
    hits = abs(tensors["hits"] - losses.get("hits", 0))
    if not (loss <= BOUND and hits <= BOUND and everything > 0):
        print(f"  FAILED: loss off by {loss:.2e}, right answers by {hits:.2e}")
        failures += 1
    print(
        f"{path.split('/')[-1]}: {len(want)} gradients, the worst has"
        f" {worst:.2f} of its bound; loss {loss:.2e}"
    )
    return failures


def main():
    torch.set_num_threads(1)
    failures = sum(check(path) for path in sys.argv[1:])
    sys.exit(failures > 0 or len(sys.argv) < 2)


if __name__ == "__main__":
    main()
