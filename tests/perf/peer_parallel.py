"""The loops of several processes that perf/parallel_vs_pytorch times compute
the loss and the gradients of the reference in one process.

    tests/perf/peer_parallel.py [Own|Libraries|Order]

Libraries: what this Python lacks is skipped; tests/perf/peer_libraries.py has
the current one."""

import multiprocessing
import os
import queue
import sys
import tempfile
import time
import unittest

try:
    import torch
    from torch import distributed
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)

source = os.environ.get("srcdir", ".")
sys.path[:0] = [
    os.path.join(source, "perf"),
    os.path.join(source, "tests", "reference"),
]

import models_torch  # noqa: E402
from bench import cases, layouts, loops, peer, peer_model  # noqa: E402

B, S, MICROBATCHES = 2, 10, 4
SIZES = cases.Model("small", 3, 24, 4, 40, 16, False)
P2 = layouts.Layout("P2", stages=(2, 1))
T2 = layouts.Layout("T2", tensor=2, stages=(3,))
D2 = layouts.Layout("D2", replicas=2, stages=(3,))


def weights():
    torch.manual_seed(1)
    names = peer_model.Model(SIZES, "plain").state_dict()
    return {
        name: 0.3 * torch.randn(value.shape, dtype=torch.float64)
        for name, value in names.items()
    }


def batches():
    torch.manual_seed(2)
    return [
        {
            "tokens": torch.randint(0, SIZES.vocab, (B, S)),
            "labels": torch.randint(0, SIZES.vocab, (B, S)),
            "loss_mask": torch.ones(B, S, dtype=torch.int64),
        }
        for _ in range(MICROBATCHES)
    ]


def train(rank, layout, setting, whole):
    """What the second of two iterations leaves, of the same microbatches and
    weights: (loop, loss)."""
    loop = loops.make(SIZES, layout.peer(), rank, setting)
    given = batches()
    with torch.no_grad():
        for name, parameter in loop.model.named_parameters():
            parameter.copy_(loop.part(name, whole))
    each = MICROBATCHES // layout.replicas
    first = rank * each if layout.replicas > 1 else 0
    for _ in range(2):
        for parameter in loop.model.parameters():
            parameter.grad = None
        loss = loop.iterate(given[first : first + each])
    return loop, loss


def process(rank, meet, made, layout, setting, whole, gradients):
    torch.set_num_threads(1)
    if setting["loop"] != loops.MEGATRON:
        torch.set_default_dtype(torch.float64)
    distributed.init_process_group(
        "gloo", init_method="file://" + meet, rank=rank, world_size=layout.ranks
    )
    loop, loss = train(rank, layout, setting, whole)
    errors = {
        name: (p.grad - loop.part(name, gradients)).norm().item()
        for name, p in loop.model.named_parameters()
    }
    made.put((rank, loss.item(), errors))
    distributed.barrier()


def results(made, every):
    """What the processes put; none comes from one that failed."""
    end = time.monotonic() + 120 * int(os.environ.get("TIME_SCALE", 3))
    found = []
    while len(found) < len(every):
        try:
            found.append(made.get(timeout=1))
        except queue.Empty:
            failed = any(one.exitcode for one in every)
            if failed or time.monotonic() > end:
                for one in every:
                    one.kill()
                raise RuntimeError("a process failed or hung") from None
    return sorted(found, key=lambda one: one[0])


def run(*more, ranks=2):
    """[(loss, {name: error of its gradient})] of each rank."""
    os.environ.update(GLOO_SOCKET_IFNAME="lo", TORCHDYNAMO_DISABLE="1")
    context = multiprocessing.get_context("spawn")
    made = context.Queue()
    with tempfile.TemporaryDirectory() as directory:
        meet = os.path.join(directory, "meet")
        every = [
            context.Process(target=process, args=(rank, meet, made, *more))
            for rank in range(ranks)
        ]
        for one in every:
            one.start()
        found = results(made, every)
        for one in every:
            one.join()
    return [(loss, errors) for _, loss, errors in found]


class SameAsReference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weights = weights()
        arrays = {name: value.numpy() for name, value in cls.weights.items()}
        model = models_torch.load(
            arrays, models_torch.Options(SIZES.heads), torch.float64
        )
        losses = models_torch.accumulate(model, batches())
        cls.loss = losses["lm"]
        cls.gradients = {n: p.grad for n, p in model.named_parameters()}

    def check(self, layout, loop, bound=1e-12, attention="plain", compiled=False):
        """The loss: of the last stage, of every tensor-parallel rank, the mean
        of the replicas."""
        setting = dict(loop=loop, attention=attention, compiled=compiled)
        ends = run(layout, setting, self.weights, self.gradients)
        for _, errors in ends:
            for name, error in errors.items():
                self.assertLessEqual(error, bound, name)
        losses = [loss for loss, _ in ends]
        if len(layout.stages) > 1:
            self.assertEqual(losses[0], 0)
            losses = losses[1:]
        if layout.replicas > 1:
            losses = [sum(losses) / layout.replicas]
        for loss in losses:
            self.assertLessEqual(abs(loss - self.loss), bound * self.loss)
        return [set(errors) for _, errors in ends]


class Own(SameAsReference):
    def test_pipeline(self):
        for kind in "plain", "baddbmm":
            with self.subTest(attention=kind):
                names = self.check(P2, loops.PIPELINE, attention=kind)
                # Both together have all; both have the word embeddings.
                self.assertEqual(names[0] | names[1], set(self.gradients))
                self.assertEqual(
                    names[0] & names[1], {"word_embeddings.weight"}
                )

    def test_tensor(self):
        for kind in "plain", "baddbmm":
            with self.subTest(attention=kind):
                for names in self.check(T2, loops.TENSOR, attention=kind):
                    self.assertEqual(names, set(self.gradients))

    def test_replicas(self):
        for names in self.check(D2, loops.REPLICAS):
            self.assertEqual(names, set(self.gradients))


class Libraries(SameAsReference):
    def test_schedules_of_torch_distributed_pipelining(self):
        if not peer.pipelining():
            self.skipTest("no torch.distributed.pipelining")
        for loop in loops.SCHEDULES:
            with self.subTest(loop=loop):
                names = self.check(P2, loop)
                self.assertEqual(names[0] | names[1], set(self.gradients))

    def test_megatron_core(self):
        """It computes the cross-entropy in float32."""
        if not peer.megatron_core():
            self.skipTest("no megatron-core: launch/setup --peers installs it")
        for layout, parameters in (P2, (26, 15)), (T2, (40, 40)), (D2, (40, 40)):
            with self.subTest(layout=layout.name):
                names = self.check(layout, loops.MEGATRON, bound=1e-5)
                self.assertEqual(tuple(map(len, names)), parameters)
        with self.subTest("fused operations"):
            self.check(T2, loops.MEGATRON, bound=1e-5, compiled=True)


class Order(unittest.TestCase):
    def text(self, *arguments):
        return " ".join(
            f"{what}{i}" for what, i in layouts.one_f_one_b(*arguments)
        )

    def test_1f1b_of_two_stages(self):
        self.assertEqual(self.text(0, 2, 4), "F0 F1 B0 F2 B1 F3 B2 B3")
        self.assertEqual(self.text(1, 2, 4), "F0 B0 F1 B1 F2 B2 F3 B3")

    def test_few_microbatches(self):
        self.assertEqual(self.text(0, 4, 2), "F0 F1 B0 B1")
        self.assertEqual(self.text(0, 4, 1), "F0 B0")

    def test_at_most_p_minus_k_are_held(self):
        for rank in range(4):
            held = most = 0
            for what, _ in layouts.one_f_one_b(rank, 4, 9):
                held += 1 if what == "F" else -1
                most = max(most, held)
            self.assertEqual(most, 4 - rank)


if __name__ == "__main__":
    unittest.main()
