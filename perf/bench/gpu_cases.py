"""What is compared on a GPU.  No PyTorch here."""

import dataclasses

from bench import cases


@dataclasses.dataclass(frozen=True)
class GpuCase(cases.Case):
    """name is a preset of mtlm-dag, whose sizes model repeats."""

    def options(self, iterations):
        """mtlm-dag's, but for what to do with it."""
        return [
            str(o)
            for o in (
                *("--model", self.name, "--bf16"),
                *("--micro-batch-size", self.micro_batch),
                *("--global-batch-size", self.batch),
                *("--train-iters", iterations),
                *("--lr", cases.LEARNING_RATE),
                *("--lr-decay-style", "constant"),
                *("--weight-decay", cases.WEIGHT_DECAY),
                *("--clip-grad", 1.0),
                *("--hidden-dropout", 0),
                *("--attention-dropout", 0),
                *("--eval-iters", 0),
                *("--log-interval", 1),
                *("--log-format", "megatron"),
                "--mock-data",
            )
        ]

    @property
    def flops(self):
        """Model FLOPs of an iteration, arXiv 2205.05198 equation 7; a BERT's
        dense layer of the LM head too.  No discount for a causal mask."""
        m, tokens = self.model, self.tokens
        h, s = m.hidden, self.seq_length
        layers = 72 * tokens * m.layers * h * h * (1 + s / (6 * h))
        head = 6 * tokens * h * m.vocab
        return layers + head + (6 * tokens * h * h if m.bert else 0)


def _case(name, sizes, micro_batch, seq_length):
    """Eight microbatches to an iteration: what the optimizer takes stands in
    its usual proportion."""
    model = cases.Model(name, *sizes)
    return GpuCase(name, model, 8, micro_batch, seq_length)


CASES = {
    case.name: case
    for case in (
        _case("gpt2-124m", (12, 768, 12, 50304, 1024, False), 16, 1024),
        _case("gpt2-v1-1.2b", (24, 1920, 15, 51200, 1024, False), 8, 1024),
        _case("gpt2-2.5b", (54, 1920, 20, 51200, 1024, False), 4, 1024),
        _case("bert-1.3b", (24, 2048, 32, 30592, 512, True), 16, 512),
        _case("bert-3.9b", (48, 2560, 40, 30592, 512, True), 8, 512),
    )
}

# Dense bf16 rate by the datasheet, TFLOP/s, by a word of the device's name:
# NVIDIA's data sheets of the SXM parts, without sparsity.
DATASHEET = {"H200": 989.5, "H100": 989.5, "A100": 312.0}


# Of memory, GB/s, likewise.
BANDWIDTH = {"H200": 4800.0, "H100": 3350.0, "A100": 2039.0}


def _of(rates, device):
    return next((r for word, r in rates.items() if word in device), None)


def datasheet(device):
    """TFLOP/s, or None."""
    return _of(DATASHEET, device)


def bandwidth(device):
    """GB/s, or None."""
    return _of(BANDWIDTH, device)


# How many times as fast bf16 is to be as fp32 on CPUs, by a word of
# /proc/cpuinfo; the first that is there counts.
ON_CPUS = {"amx_bf16": 3, "avx512_bf16": 1.6}
WITHOUT = 0.9


def bar_on_cpus(processor):
    """processor: of machine.processor()."""
    words = set(processor.get("flags", "").split())
    if processor.get("vendor_id") == "GenuineIntel":
        # Slower than fp32 there: the program does without.
        words.discard("avx512_bf16")
    return next((bar for word, bar in ON_CPUS.items() if word in words), WITHOUT)


def curve(seq_length=1024, micro_batch=4, microbatches=2):
    """gpt2-124m, to compare losses; a GpuCase and its options, of so many
    iterations, that PyTorch's recipe is written with."""
    case = dataclasses.replace(
        CASES["gpt2-124m"],
        seq_length=seq_length,
        micro_batch=micro_batch,
        microbatches=microbatches,
    )

    def options(iterations):
        words = [w for w in case.options(iterations) if w != "--bf16"]
        more = (
            *("--seq-length", seq_length),
            # A preset's padding would take no part in our softmax.
            *("--vocab-size", case.model.vocab),
            *("--max-position-embeddings", case.model.positions),
            *("--adam-beta1", cases.BETAS[0], "--adam-beta2", cases.BETAS[1]),
            *("--adam-eps", cases.EPSILON, "--lr-warmup-fraction", 0),
            *("--min-lr", 0),
        )
        return [*words, *map(str, more)]

    return case, options
