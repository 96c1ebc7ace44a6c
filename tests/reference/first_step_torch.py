"""A GPT or BERT in PyTorch, written independently of ours, against what
`mtlm-dag --dump-first-step DIR` wrote: the loss and every gradient.

Usage: first_step_torch.py --heads A --vocab V --micro-batch B
           [--post-layernorm] [--exact-gelu] [--query-key-scaling]
           [--some-masked] [--value bf16|fp16] NAME=DIR...
       first_step_torch.py -

-: takes such arguments line by line from its input, and answers each line with
what it found and "failures N": PyTorch takes longer to load than to compute.

--some-masked: it is an error when all labels count.

Each DIR holds the files of one layout's ranks; all must start from the same
weights and samples.  The reference is PyTorch in float64.  Bounds:

  loss       within 1e-6 of it, relatively
  gradient   ||g - g64|| <= max(5e-6 ||g64||, 1e-7 ||all gradients||), and
             <= 2 max(||g32 - g64||, NOISE ||g64||) with g32 PyTorch's own in
             float32.  NOISE is two units in the last place of a float: below
             that PyTorch's error says more about its luck than about ours.
             Of a tensor of less than FEW elements it is twice that: the
             binary head's bias has two, of summands that cancel (with 16
             seeds PyTorch's own error was 0.9e-7 to 9.6e-7 of it, and in the
             mean square, absolutely, 1.4 times ours).

--value: weights and activations have 16 bit.  Then both are, instead of
float32, compared with PyTorch's own error in that type:

  loss       |l - l64| <= 1.5 max(|l16 - l64|, UNIT / 16 l64); of the few
             answers of the binary head, and of the norm, without the 16
  gradient   ||g - g64|| <= 1.5 max(||g16 - g64||, UNIT ||g64||)

UNIT is half of the distance between 1 and the next number of that type.
"""

import argparse
import math
import shlex
import sys

import numpy as np
import torch

from dump_files import assemble, split
from models_torch import Options, accumulate, load
from precision_torch import run_torch_16

LOSS_BOUND = 1e-6
GRADIENT_BOUND = 5e-6
FLOOR = 1e-7
TORCH_FACTOR = 2
NOISE = 2.0**-22
FEW = 8
WORST_SHOWN = 6
TORCH_FACTOR_16 = 1.5
UNIT = {"bf16": 2.0**-8, "fp16": 2.0**-11}
LOSS_SCALE = 65536


def microbatches_of(batch, micro_batch):
    fields = {
        name: torch.from_numpy(values.astype(np.int64)).split(micro_batch)
        for name, values in batch.items()
    }
    return [
        {name: parts[i] for name, parts in fields.items()}
        for i in range(len(fields["tokens"]))
    ]


def run_torch(weights, microbatches, options, dtype):
    """The losses and {name: gradient}, summed up over microbatches in dtype."""
    model = load(weights, options, dtype)
    losses = accumulate(model, microbatches)
    gradients = {
        n: p.grad.double().numpy() for n, p in model.named_parameters()
    }
    return losses, gradients


class Reference:
    """PyTorch's results for one set of weights and samples."""

    def __init__(self, weights, batch, options):
        self.weights, self.batch = weights, batch
        model = Options(
            options.heads,
            options.post_layernorm,
            options.exact_gelu,
            options.query_key_scaling,
        )
        microbatches = microbatches_of(batch, options.micro_batch)
        arguments = weights, microbatches, model
        self.value = options.value
        self.losses, self.gradients = run_torch(*arguments, torch.float64)
        if self.value:
            losses, gradients = run_torch_16(
                *arguments, self.value, LOSS_SCALE
            )
        else:
            losses, gradients = run_torch(*arguments, torch.float32)
        self.loss_error = {
            n: abs(losses[n] / value - 1) for n, value in self.losses.items()
            if value
        }
        self.norm = math.sqrt(
            sum(np.sum(g * g) for g in self.gradients.values())
        )
        self.error = {
            n: np.linalg.norm(gradients[n] - g)
            for n, g in self.gradients.items()
        }

    def gradient_share(self, name, gradient):
        """The error of that gradient, and which share of its bound it is."""
        want = self.gradients[name]
        error, size = np.linalg.norm(gradient - want), np.linalg.norm(want)
        if self.value:
            own = max(self.error[name], UNIT[self.value] * size)
            return error, error / (TORCH_FACTOR_16 * own)
        noise = NOISE if want.size >= FEW else 2 * NOISE
        own = max(self.error[name], noise * size)
        bound = max(GRADIENT_BOUND * size, FLOOR * self.norm)
        return error, max(error / (TORCH_FACTOR * own), error / bound)

    def loss_bound(self, name):
        """Of the relative error; of the norm too, with name None."""
        if not self.value:
            return LOSS_BOUND
        noise = UNIT[self.value] / (16 if name == "lm" else 1)
        return TORCH_FACTOR_16 * max(self.loss_error.get(name, 0), noise)

    def is_of(self, weights, batch):
        return all(
            np.array_equal(ours[n], theirs)
            for ours, other in ((weights, self.weights), (batch, self.batch))
            for n, theirs in other.items()
        )


def check(name, gradients, rest, reference):
    """Prints what was found; returns the number of failures."""
    rows, failures = [], 0
    for tensor, want in reference.gradients.items():
        error, share = reference.gradient_share(tensor, gradients[tensor])
        size = np.linalg.norm(want)
        good = share <= 1
        failures += not good
        own = reference.error[tensor] / size
        rows.append((share, error / size, own, good, tensor))
    rows.sort(reverse=True)
    print(f"{name}: the worst of {len(rows)} tensors")
    print("  error      PyTorch's  share of the bound")
    for share, error, own, good, tensor in rows[:WORST_SHOWN]:
        verdict = "" if good else "  FAILED"
        print(f"  {error:.2e}   {own:.2e}   {share:.2f}  {tensor}{verdict}")
    worst = max(row[1] for row in rows)
    loss = abs(rest["loss"] / reference.losses["lm"] - 1)
    norm = abs(rest["grad_norm"] / reference.norm - 1)
    sop = 0
    if "sop" in reference.losses:
        sop = abs(rest["sop_loss"] / reference.losses["sop"] - 1)
    print(
        f"  largest error {worst:.2e}, loss {loss:.2e}, sop loss {sop:.2e},"
        f" norm {norm:.2e}"
    )
    for what, value, bound in (
        ("the loss", loss, reference.loss_bound("lm")),
        ("the sentence order's loss", sop, reference.loss_bound("sop")),
        ("the norm", norm, reference.loss_bound(None)),
        ("the padding's gradient", rest["padding"], 0),
    ):
        if not value <= bound:
            print(f"  FAILED: {what} is off by {value:.2e}")
            failures += 1
    return failures


def compare(arguments):
    """Returns the number of failures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--vocab", type=int, required=True)
    parser.add_argument("--micro-batch", type=int, required=True)
    parser.add_argument("--post-layernorm", action="store_true")
    parser.add_argument("--exact-gelu", action="store_true")
    parser.add_argument("--query-key-scaling", action="store_true")
    parser.add_argument("--some-masked", action="store_true")
    parser.add_argument("--value", choices=("bf16", "fp16"))
    parser.add_argument("dumps", nargs="+", metavar="NAME=DIR")
    options = parser.parse_args(arguments)
    reference, failures = None, 0
    for dump in options.dumps:
        name, directory = dump.split("=", 1)
        weights, gradients, batch, rest = split(
            assemble(directory), options.vocab
        )
        if reference is None:
            reference = Reference(weights, batch, options)
        if options.some_masked and batch["loss_mask"].min() > 0:
            sys.exit(f"{name}: all labels count")
        if not reference.is_of(weights, batch):
            sys.exit(f"{name}: other weights or samples than before")
        failures += check(name, gradients, rest, reference)
    print(f"{len(options.dumps)} layouts, {failures} failures")
    return failures


def main():
    torch.set_num_threads(1)
    if sys.argv[1:] != ["-"]:
        sys.exit(compare(sys.argv[1:]) > 0)
    for line in sys.stdin:
        print("failures", compare(shlex.split(line)), flush=True)


if __name__ == "__main__":
    main()
