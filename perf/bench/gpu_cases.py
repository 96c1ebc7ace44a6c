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


def datasheet(device):
    """TFLOP/s, or None."""
    for word, rate in DATASHEET.items():
        if word in device:
            return rate
    return None
