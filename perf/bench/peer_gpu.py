"""Trains a case of gpu_cases in PyTorch on one GPU: prints a line of JSON
about itself and one per iteration.

Run by gpu_vs_pytorch and gpu-check; its argument is JSON: {case, iterations,
setting}, setting "autocast" (fp32 weights and moments, which is the work that
mtlm-dag does too), "masters" (the weights rounded to bf16 for each microbatch,
nothing in 32 bits but gradients of weights and what the optimizer has), "bf16"
(weights, gradients and moments in 16 bits, which is less) or "fp32"; without
case it measures the rates of matrix products and of memory.  weights (a
directory of --dump-first-step) and samples (a file of perf/samples) make it
train what mtlm-dag trains, layers not compiled.  device "cpu", for
bf16_vs_pytorch and tests, leaves out what a processor lacks.
"""

import dataclasses
import json
import os
import sys
import time
from contextlib import nullcontext

import torch

try:
    from torch.func import functional_call
except ImportError:  # before PyTorch 2
    from torch.nn.utils.stateless import functional_call

sys.path.insert(
    0, os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)

from bench import gpu_cases, peer, peer_model  # noqa: E402


def say(**fields):
    print(json.dumps(fields), flush=True)


class Device:
    def __init__(self, name):
        self.name, self.gpu = name, name == "cuda"

    def synchronize(self):
        if self.gpu:
            torch.cuda.synchronize()

    def seconds(self, work):
        self.synchronize()
        start = time.perf_counter()
        result = work()
        self.synchronize()
        return time.perf_counter() - start, result

    def autocast(self, setting):
        return torch.autocast(
            self.name, torch.bfloat16, enabled=setting == "autocast"
        )


def matrix_rate(device, n):
    """TFLOP/s of an n x n x n product in bf16, on random data: the best of
    several rounds of ten."""
    a, b = (
        torch.randn(n, n, device=device.name, dtype=torch.bfloat16)
        for _ in range(2)
    )
    best = min(
        device.seconds(lambda: [torch.mm(a, b) for _ in range(10)])[0]
        for _ in range(6)
    )
    return 10 * 2e-12 * n**3 / best


def copy_rate(device, elements):
    """GB/s read and written by a copy: the best of several."""
    a = torch.ones(elements, device=device.name)
    b = torch.empty_like(a)
    best = min(device.seconds(lambda: b.copy_(a))[0] for _ in range(6))
    return 1e-9 * 2 * a.element_size() * elements / best


def batch_of(case, device):
    """One microbatch of random tokens, nothing padded or masked out for a GPT;
    a BERT predicts 15 % of them."""
    shape = case.micro_batch, case.seq_length
    tokens, labels = (
        torch.randint(case.model.vocab, shape, device=device.name)
        for _ in range(2)
    )
    return {
        "tokens": tokens,
        "labels": labels,
        "types": torch.zeros_like(tokens),
        "loss_mask": torch.rand(shape, device=device.name) < 0.15,
        # On the host: the model asks whether anything is padded.
        "length": torch.full((shape[0],), case.seq_length),
        "order": torch.zeros(shape[0], dtype=torch.int64, device=device.name),
    }


def batches_of(options, case, device):
    """A function of the iteration: its microbatches."""
    if "samples" not in options:
        same = [batch_of(case, device) for _ in range(case.microbatches)]
        return lambda iteration: same
    samples = peer.Samples(options["samples"], case, 0, 1)

    def given(iteration):
        for batch in samples.microbatches(iteration):
            yield {
                name: field if name == "length" else field.to(device.name)
                for name, field in batch.items()
            }

    return given


def make_model(options, case, device):
    setting = options["setting"]
    kind = "sdpa" if peer_model.HAS_SDPA else "plain"
    with torch.device(device.name) if device.gpu else nullcontext():
        model = peer_model.Model(case.model, kind)
    if "weights" in options:
        peer.load(model, options["weights"])
        return model
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    if setting == "bf16":
        model = model.to(torch.bfloat16)
    if device.gpu:
        model.compile_parts()
    return model


def rounded(model):
    """The model with weights in bf16; their gradients are added in fp32."""

    def forward(batch):
        weights = {
            name: p.to(torch.bfloat16) for name, p in model.named_parameters()
        }
        return functional_call(model, weights, (batch,))

    return forward


def train(options, case, device):
    setting = options["setting"]
    model = make_model(options, case, device)
    forward = rounded(model) if setting == "masters" else model
    adam = peer.optimizer(model.parameters(), "fused" if device.gpu else "foreach")
    batches = batches_of(options, case, device)

    def iterate(iteration):
        total = 0
        for batch in batches(iteration):
            with device.autocast(setting):
                loss = sum(forward(batch)) / case.microbatches
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        return total

    for i in range(options["iterations"]):
        seconds, loss = device.seconds(lambda: iterate(i))
        say(seconds=seconds, loss=loss.item())
    if device.gpu:
        say(peak_bytes=torch.cuda.max_memory_allocated())


def main():
    options = json.loads(sys.argv[1])
    device = Device(options.get("device", "cuda"))
    torch.backends.cuda.matmul.allow_tf32 = False
    say(
        torch=torch.__version__,
        device=torch.cuda.get_device_name() if device.gpu else "cpu",
    )
    if options.get("case"):
        case = gpu_cases.CASES[options["case"]]
        case = dataclasses.replace(case, **options.get("change", {}))
        train(options, case, device)
    else:
        n = options.get("n", 8192)
        say(matrix_tflops=matrix_rate(device, n))
        say(copy_gbs=copy_rate(device, 4 * n * n))


if __name__ == "__main__":
    main()
