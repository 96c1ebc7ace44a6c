"""What is compared, and what it takes at least.  No PyTorch here."""

import dataclasses

# Of both programs; dropout is off, so that both compute the same numbers.  With
# 1e-4 GPT-2's loss on 1 x 1024 tokens rises in iteration 7, and rounding changes
# this loss by 1 %.
LEARNING_RATE = 3e-5
WEIGHT_DECAY = 0.1
BETAS = 0.9, 0.999
EPSILON = 1e-8


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    layers: int
    hidden: int
    heads: int
    vocab: int
    positions: int
    bert: bool

    def options(self):
        """mtlm-dag's."""
        sizes = [
            *("--num-layers", self.layers),
            *("--hidden-size", self.hidden),
            *("--num-attention-heads", self.heads),
            *("--vocab-size", self.vocab),
            *("--max-position-embeddings", self.positions),
        ]
        return (["--model-type", "bert"] if self.bert else []) + sizes


GPT2 = Model("GPT-2 124M", 12, 768, 12, 50304, 1024, False)
BERT = Model("BERT 336M", 24, 1024, 16, 30592, 512, True)


@dataclasses.dataclass(frozen=True)
class Case:
    """microbatches of micro_batch samples of seq_length tokens make an
    iteration."""

    name: str
    model: Model
    microbatches: int
    micro_batch: int
    seq_length: int

    @property
    def batch(self):
        return self.microbatches * self.micro_batch

    @property
    def tokens(self):
        return self.batch * self.seq_length

    def options(self, iterations):
        """mtlm-dag's, but for what to do with it."""
        return [
            str(o)
            for o in (
                *self.model.options(),
                *("--seq-length", self.seq_length),
                *("--micro-batch-size", self.micro_batch),
                *("--global-batch-size", self.batch),
                *("--train-iters", iterations),
                *("--lr", LEARNING_RATE),
                *("--lr-decay-style", "constant"),
                *("--weight-decay", WEIGHT_DECAY),
                *("--adam-beta1", BETAS[0]),
                *("--adam-beta2", BETAS[1]),
                *("--adam-eps", EPSILON),
                *("--clip-grad", 0),
                *("--hidden-dropout", 0),
                *("--attention-dropout", 0),
                *("--eval-iters", 0),
                *("--log-interval", 1),
                *("--log-format", "megatron"),
                "--mock-data",
            )
        ]


CASES = {
    case.name: case
    for case in (
        Case("4x64", GPT2, 1, 4, 64),
        Case("1x1024", GPT2, 1, 1, 1024),
        Case("4x1x256", GPT2, 4, 1, 256),
        Case("bert-1x512", BERT, 1, 1, 512),
    )
}


# Nothing but nodes: 24 layers, 16 microbatches, matrices of a few elements.
TINY = Case("tiny", Model("tiny", 24, 16, 1, 64, 4, False), 16, 1, 4)


def products(case):
    """{(m, n, k) of the forward product: how many of them an iteration has}:
    of the layers and of the head, the output layer with all of the
    vocabulary."""
    model, rows = case.model, case.micro_batch * case.seq_length
    h, each = model.hidden, case.microbatches
    counts = {}

    def add(out, into, number):
        key = rows, out, into
        counts[key] = counts.get(key, 0) + number * each

    add(3 * h, h, model.layers)
    add(h, h, model.layers)
    add(4 * h, h, model.layers)
    add(h, 4 * h, model.layers)
    if model.bert:
        add(h, h, 1)
    add(model.vocab, h, 1)
    return counts


def three(shape):
    """Forward product and both gradients, as perf/gemm names them; weights
    are stored [out, in]."""
    rows, out, into = shape
    return (
        f"nt{rows}x{out}x{into}",
        f"nn{rows}x{into}x{out}",
        f"tn{out}x{into}x{rows}",
    )


def attention_flops(case):
    """Of scores and weighted sums, forward and backward, a causal model's in
    full."""
    model = case.model
    return 12 * model.layers * model.hidden * case.seq_length * case.tokens
