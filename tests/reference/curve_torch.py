"""A training in PyTorch, in float64, against one of mtlm-dag: the loss of
every step, the learning rate, norms, zeros of the gradients, from the same
initial weights and samples.

Usage: curve_torch.py [OPTION...] DIR LOG

DIR is of --dump-first-step with --dump-samples, LOG is what the training
printed with --log-interval 1.  The recipe is written down again here: AdamW
with decoupled weight decay, none for vectors (biases, layernorms); clipping of
the whole norm; warm-up from 0 and cosine decay over samples; the batch of each
step by consumed samples.  With --staleness, each gradient is that of the weights
before the last step (PipeDream-2BW's rule).  The loss of a step must be within
1e-5 of PyTorch's.
"""

import argparse
import math
import re
import sys

import numpy as np
import torch

from dump_files import assemble, split
from models_torch import Options, accumulate, load

LOSS_BOUND = 1e-5
NORM_BOUND = 1e-3  # of gradients, printed with three decimals
PARAMS_BOUND = 1e-4  # likewise, and larger
# The keys' bias has a gradient of 0 or next to it, as rounding has it.
ZEROS_BOUND = 0.1


def field(line, name):
    return float(re.search(rf"\| {name}: +([^ ]+) \|", line).group(1))


def read_log(path):
    """A dictionary for each iteration line."""
    names = {
        "samples": "consumed samples",
        "lr": "learning rate",
        "batch": "global batch size",
        "lm": "lm loss",
        "sop": "sop loss",
        "norm": "grad norm",
        "zeros": "num zeros",
        "params": "params norm",
    }
    with open(path) as file:
        lines = [line for line in file if re.match(r" \[.*\] iteration ", line)]
    return [
        {
            key: field(line, name)
            for key, name in names.items()
            if f"| {name}:" in line
        }
        for line in lines
    ]


def learning_rate(o, samples):
    if samples <= o.warmup:
        return o.lr * samples / o.warmup
    done = min(1, (samples - o.warmup) / (o.decay - o.warmup))
    return o.min_lr + (o.lr - o.min_lr) * math.cos(math.pi / 2 * done) ** 2


def batch_size(o, samples):
    """--rampup-batch-size."""
    if not o.ramp:
        return o.batch
    start, increment, length = o.ramp
    steps = (o.batch - start) // increment
    return min(start + samples * steps // length * increment, o.batch)


def make_optimizer(model, o):
    parameters = list(model.parameters())
    return torch.optim.AdamW(
        [
            {
                "params": [p for p in parameters if p.dim() > 1],
                "weight_decay": o.weight_decay,
            },
            {
                "params": [p for p in parameters if p.dim() == 1],
                "weight_decay": 0,
            },
        ],
        betas=(o.beta1, o.beta2),
        eps=1e-8,
    )


def copy_of(model):
    return [p.detach().clone() for p in model.parameters()]


def put(model, values):
    with torch.no_grad():
        for p, value in zip(model.parameters(), values):
            p.copy_(value)


def train(model, batch, o, steps):
    """Yields what the log should hold."""
    optimizer = make_optimizer(model, o)
    fields = {n: torch.from_numpy(v.astype(np.int64)) for n, v in batch.items()}
    samples = 0
    before = copy_of(model)
    for _ in range(steps):
        size = batch_size(o, samples)
        microbatches = [
            {n: f[at : at + o.micro_batch] for n, f in fields.items()}
            for at in range(samples, samples + size, o.micro_batch)
        ]
        optimizer.zero_grad()
        now = copy_of(model)
        if o.staleness:
            put(model, before)
        losses = accumulate(model, microbatches)
        put(model, now)
        before = now
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), o.clip)
        zeros = sum((p.grad == 0).sum().item() for p in model.parameters())
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(o, samples)
        optimizer.step()
        samples += size
        yield {
            "samples": samples,
            "batch": size,
            "lr": learning_rate(o, samples),
            "norm": norm.item(),
            "zeros": zeros,
            "params": math.sqrt(
                sum((p.detach() ** 2).sum().item() for p in model.parameters())
            ),
            **losses,
        }


def compare(log, want):
    """The worst relative difference of each number, and the failures."""
    worst, failures = {}, 0
    for step, (ours, theirs) in enumerate(zip(log, want), 1):
        for name, value in ours.items():
            off = abs(value / theirs[name] - 1) if theirs[name] else abs(value)
            worst[name] = max(worst.get(name, 0), off)
            bound = {
                "lm": LOSS_BOUND,
                "sop": LOSS_BOUND,
                "norm": NORM_BOUND,
                "params": PARAMS_BOUND,
                "zeros": ZEROS_BOUND,
            }
            if not off <= bound.get(name, 1e-6):
                failures += 1
                if failures <= 10:
                    print(f"  FAILED: step {step}: {name} is {value:.7g},"
                          f" PyTorch has {theirs[name]:.7g} ({off:.1e})")
    return worst, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--vocab", type=int, required=True)
    parser.add_argument("--micro-batch", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--ramp", type=int, nargs=3)
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--min-lr", type=float, required=True)
    parser.add_argument("--warmup", type=float, required=True)
    parser.add_argument("--decay", type=float, required=True)
    parser.add_argument("--weight-decay", type=float, required=True)
    parser.add_argument("--clip", type=float, required=True)
    parser.add_argument("--beta1", type=float, default=0.9)
    parser.add_argument("--beta2", type=float, default=0.999)
    parser.add_argument("--post-layernorm", action="store_true")
    parser.add_argument("--staleness", action="store_true")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("dump", metavar="DIR")
    parser.add_argument("log", metavar="LOG")
    o = parser.parse_args()
    torch.set_num_threads(1)
    weights, _, batch, _ = split(assemble(o.dump), o.vocab)
    log = read_log(o.log)
    if len(log) != o.steps:
        sys.exit(f"FAILED: {o.log} has {len(log)} steps, not {o.steps}")
    options = Options(o.heads, o.post_layernorm)
    model = load(weights, options, torch.float64)
    want = list(train(model, batch, o, o.steps))
    worst, failures = compare(log, want)
    clipped = sum(step["norm"] > o.clip for step in want)
    print(f"  loss from {want[0]['lm']:.3f} to {want[-1]['lm']:.3f},"
          f" {clipped} of {o.steps} steps clipped; off by at most "
          + ", ".join(f"{n} {v:.1e}" for n, v in worst.items()))
    if not 0 < clipped < o.steps:
        sys.exit("FAILED: clips always or never: this tells little")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
