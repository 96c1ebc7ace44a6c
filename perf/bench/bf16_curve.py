"""Losses of gpt2-124m in bf16: mtlm-dag's and PyTorch's from the same weights
and samples, beside PyTorch's in fp32.  No PyTorch here."""

import os

# PyTorch's setting in bf16: as in Megatron-LM all weights and activations are in
# 16 bits, and the optimizer has its own weights in 32.  Under autocast
# embeddings, layernorms and the sums of layers stay in 32.
PEER = "masters"
# Of each other, relative: the two round at other places.
BETWEEN = 1e-2
# mtlm-dag's mean distance from fp32 over that of PyTorch, at most.
TIMES = 2
# What two runs in fp32 differ by counts for nothing.
NOISE = 1e-4


def losses(case, options, steps, directory, ours, samples, peer):
    """{"ours", PEER, "fp32"}: the last two are PyTorch's settings.

    case, options: as gpu_cases.curve() gives them.  What runs: ours(words) to
    losses, samples(words), peer(**options of peer_gpu.py) to losses."""
    weights = os.path.join(directory, "weights")
    file = os.path.join(directory, "samples")
    ours(*options(1), "--dump-first-step", weights)
    samples(file, steps, *options(steps))
    found = {"ours": ours(*options(steps), "--bf16")}
    for setting in PEER, "fp32":
        found[setting] = peer(
            case=case.name,
            setting=setting,
            iterations=steps,
            weights=weights,
            samples=file,
            change={
                "seq_length": case.seq_length,
                "micro_batch": case.micro_batch,
                "microbatches": case.microbatches,
            },
        )
    return found


def apart(a, b):
    """Relative distances of two series."""
    return [abs(x - y) / abs(y) for x, y in zip(a, b)]


def far(found):
    """Mean distances from fp32."""
    names = {"ours": "ours", "PyTorch": PEER}
    each = {n: apart(found[key], found["fp32"]) for n, key in names.items()}
    return {name: sum(d) / len(d) for name, d in each.items()}


def is_near(distances):
    """Of far()."""
    return distances["ours"] <= TIMES * distances["PyTorch"] + NOISE
