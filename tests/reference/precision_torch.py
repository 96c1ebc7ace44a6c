"""PyTorch's own gradients with weights and activations in 16 bit, as its
modules give them without autocast: every function's result is rounded, and so
are gradients; losses are in float32.  Gradients of weights of each microbatch
are added up in float32.

bfloat16 is PyTorch's.  On CPUs it cannot multiply matrices in float16: there
every function computes in float32, and what it returns, and the gradient that
it gets, is rounded.
"""

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from models_torch import load, total


class Rounding(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.half().float()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.half().float()


class RoundedResults(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if torch.is_tensor(result) and result.dtype == torch.float32:
            return Rounding.apply(result)
        return result


def losses_of(model, batch, value):
    if value != "fp16":
        return model(batch)
    plain = model.outputs

    def outputs(batch):
        with RoundedResults():
            return plain(batch)

    model.outputs = outputs
    try:
        return model(batch)
    finally:
        del model.outputs


def run_torch_16(weights, batches, options, value, scale):
    """The mean losses and {name: gradient} over the microbatches; value: bf16
    or fp16, in which the weights are; scale: of the loss."""
    dtype = torch.bfloat16 if value == "bf16" else torch.float32
    model = load(weights, options, dtype)
    sums, gradients = {}, {}
    for batch in batches:
        model.zero_grad(set_to_none=True)
        losses = losses_of(model, batch, value)
        (total(losses) * scale / len(batches)).backward()
        for name, loss in losses.items():
            sums[name] = sums.get(name, 0) + loss.item() / len(batches)
        for name, p in model.named_parameters():
            grad = p.grad.half() if value == "fp16" else p.grad
            gradients[name] = gradients.get(name, 0) + grad.float()
    return sums, {
        name: g.numpy().astype(np.float64) / scale
        for name, g in gradients.items()
    }
