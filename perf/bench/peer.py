"""Trains a case in PyTorch, one process of one or two: prints a line of JSON
about itself, one about its products where asked, and one per iteration.

Run by theirs.py; its argument is JSON.
"""

import glob
import importlib.metadata
import importlib.util
import json
import os
import resource
import sys
import time

import torch
from torch import distributed

sys.path.insert(
    0, os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)

from bench import cases, peer_model, tensors  # noqa: E402


def corename():
    """What OpenBLAS took the processor for; None: another library."""
    import ctypes

    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "openblas" in line}
    for path in paths:
        try:
            ask = ctypes.CDLL(path).openblas_get_corename
        except (AttributeError, OSError):
            continue
        ask.restype = ctypes.c_char_p
        return ask().decode()
    return None


def say(**fields):
    print(json.dumps(fields), flush=True)


def rate(name, kind):
    """GF/s of a product by perf/gemm's name, best of some; kind: torch.dtype."""
    trans, sizes = name[:2], [int(x) for x in name[2:].split("x")]
    m, n, k = sizes
    a = torch.rand(k, m).t() if trans[0] == "t" else torch.rand(m, k)
    b = torch.rand(n, k).t() if trans[1] == "t" else torch.rand(k, n)
    a, b, out = a.to(kind), b.to(kind), torch.empty(m, n, dtype=kind)
    best, spent, rounds = None, 0, 0
    # An old PyTorch takes seconds for a product in bf16.
    while rounds < 3 or (spent < 4 and rounds < 8) or (
        spent < 0.4 and rounds < 200
    ):
        start = time.perf_counter()
        torch.mm(a, b, out=out)
        seconds = time.perf_counter() - start
        if rounds:
            spent += seconds
            best = seconds if best is None else min(best, seconds)
        rounds += 1
    return 2e-9 * m * n * k / best


def optimizer(parameters, kind):
    """Decay of weights only, as Megatron has it; all are updated."""
    parameters = list(parameters)
    decayed = [p for p in parameters if p.dim() > 1]
    others = [p for p in parameters if p.dim() == 1]
    return torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": cases.WEIGHT_DECAY},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=cases.LEARNING_RATE,
        betas=cases.BETAS,
        eps=cases.EPSILON,
        **{"foreach": {"foreach": True}, "fused": {"fused": True}}.get(
            kind, {"foreach": False}
        ),
    )


class Masters:
    """Weights of a model in bf16, and what the optimizer has of them in fp32: a
    master of each, and its gradient, the sum over the microbatches."""

    def __init__(self, model):
        self.weights = list(model.parameters())
        self.masters = [
            torch.nn.Parameter(p.detach().clone()) for p in self.weights
        ]
        model.to(torch.bfloat16)
        for weight, master in zip(self.weights, self.masters):
            weight.register_post_accumulate_grad_hook(
                lambda w, m=master: self.add(w, m)
            )

    @staticmethod
    def add(weight, master):
        if master.grad is None:
            master.grad = weight.grad.float()
        else:
            master.grad.add_(weight.grad)
        weight.grad = None

    def round(self):
        """Sets the weights behind a step."""
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.masters)


class Samples:
    """This rank's share of each iteration, in microbatches."""

    def __init__(self, path, case, rank, ranks):
        self.fields = {
            name: torch.from_numpy(array.astype("int64"))
            for name, array in tensors.read(path).items()
        }
        self.batch, self.share = case.batch, case.batch // ranks
        self.first = rank * self.share
        self.micro = min(case.micro_batch, self.share)

    def microbatches(self, iteration):
        begin = iteration * self.batch + self.first
        return [
            {n: f[i : i + self.micro] for n, f in self.fields.items()}
            for i in range(begin, begin + self.share, self.micro)
        ]


def accumulate(model, wrapped, batches, autocast=False):
    """The gradients of an iteration; the mean losses of this rank."""
    count, losses = len(batches), None
    for i, batch in enumerate(batches):
        more = wrapped is not model and i + 1 < count
        if more:
            wrapped.require_backward_grad_sync = False
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            each = wrapped(batch)
        (sum(each) / count).backward()
        if more:
            wrapped.require_backward_grad_sync = True
        each = torch.stack([x.detach() for x in each]) / count
        losses = each if losses is None else losses + each
    return losses


def replicated(model):
    """All-reduces buckets of gradients under the backward pass."""
    return torch.nn.parallel.DistributedDataParallel(
        model, gradient_as_bucket_view=True
    )


def over_ranks(losses, usage, ranks):
    """Mean losses, and the sums of the rest."""
    both = torch.cat([losses.double() / ranks, torch.tensor(usage).double()])
    if ranks > 1:
        distributed.all_reduce(both)
    both = both.tolist()
    return both[: len(losses)], both[len(losses) :]


def usage():
    """CPU seconds and involuntary context switches."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime, now.ru_nivcsw


def load(model, directory, part=lambda name, weights: weights[name]):
    """What mtlm-dag --dump-first-step wrote as one rank, or part of each."""
    (path,) = glob.glob(directory + "/rank-*.safetensors")
    weights = tensors.read(path)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mine = part(name, weights).copy()
            parameter.copy_(torch.from_numpy(mine))


def forget_peak():
    """What was taken of memory until now does not count."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak_bytes():
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return 1024 * int(line.split()[1])


def train(options, case):
    rank, ranks = options["rank"], options["ranks"]
    model = peer_model.Model(case.model, options["attention"])
    load(model, options["weights"])
    masters = Masters(model) if options["bf16_weights"] else None
    if options["compiled"]:
        model.compile_parts()
    forget_peak()
    if rank == 0:
        parameters = sum(p.numel() for p in model.parameters())
        say(parameters=parameters)
    adam = optimizer(
        masters.masters if masters else model.parameters(), options["adam"]
    )
    samples = Samples(options["samples"], case, rank, ranks)
    wrapped = replicated(model) if ranks > 1 else model
    for i in range(options["iterations"]):
        before, start = usage(), time.perf_counter()
        adam.zero_grad(set_to_none=True)
        losses = accumulate(
            model,
            wrapped,
            samples.microbatches(i),
            options["autocast"] and not masters,
        )
        adam.step()
        if masters:
            masters.round()
        seconds = time.perf_counter() - start
        used = [after - first for after, first in zip(usage(), before)]
        losses, (cpu, switches) = over_ranks(losses, used, ranks)
        if rank == 0:
            say(seconds=seconds, losses=losses, cpu=cpu, switches=switches)
            say(ended=i)
    _, (peak,) = over_ranks(torch.zeros(0), [peak_bytes()], ranks)
    if rank == 0:
        say(peak_bytes=int(peak))


def pipelining():
    """Whether this PyTorch has it."""
    return bool(importlib.util.find_spec("torch.distributed.pipelining"))


def megatron_core():
    """Its version; None: it is not there."""
    try:
        return importlib.metadata.version("megatron-core")
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    options = json.loads(sys.argv[1])
    torch.set_num_threads(options["threads"])
    torch.set_flush_denormal(True)
    if options["ranks"] > 1:
        distributed.init_process_group(
            "gloo",
            init_method="file://" + options["meet"],
            rank=options["rank"],
            world_size=options["ranks"],
        )
    if options["rank"] == 0:
        say(
            torch=torch.__version__,
            core=corename(),
            sdpa=peer_model.HAS_SDPA,
            compiles=hasattr(torch.nn.Module, "compile"),
            own_blas=torch.backends.mkl.is_available(),
            fused="fused" in torch.optim.AdamW.__init__.__code__.co_varnames,
            masters=hasattr(torch.Tensor, "register_post_accumulate_grad_hook"),
            pipelining=pipelining(),
            megatron=megatron_core(),
        )
    if options.get("products"):
        kind = torch.bfloat16 if options["numbers"] else torch.float32
        say(rates={n: rate(n, kind) for n in options["products"]})
    if options.get("case"):
        case = cases.CASES[options["case"]]
        if options.get("layout"):
            from bench import peer_parallel

            peer_parallel.train(options, case)
        else:
            train(options, case)
    if options["ranks"] > 1:
        # A thread of gloo that still waits makes the interpreter's end call
        # terminate() at times.
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
