"""The loops of several processes that perf/parallel_vs_pytorch times compute
the loss and the gradients of the reference in one process."""

import multiprocessing
import os
import sys
import tempfile
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
from bench import (  # noqa: E402
    cases,
    layouts,
    peer_model,
    peer_pipeline,
    peer_tensor,
)

B, S, MICROBATCHES = 2, 10, 4
SIZES = cases.Model("small", 3, 24, 4, 40, 16, False)


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


def load(model, part=lambda name, whole: whole):
    whole = weights()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(part(name, whole[name]))


def pipeline(rank, kind, stages):
    stage = peer_pipeline.Stage(SIZES, kind, rank, stages).double()
    load(stage)
    loss = peer_pipeline.iterate(
        stage, rank, len(stages), batches(), (B, S, SIZES.hidden)
    )
    return stage, loss


def tensor(rank, kind, ranks):
    model = peer_tensor.Model(SIZES, kind, rank, ranks).double()
    load(model, lambda n, whole: peer_tensor.part(n, whole, rank, ranks))
    return model, peer_tensor.iterate(model, batches())


def process(rank, ranks, meet, made, train, *more):
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method="file://" + meet, rank=rank, world_size=ranks
    )
    model, loss = train(rank, *more)
    gradients = {
        name: p.grad.numpy() for name, p in model.named_parameters()
    }
    made.put((rank, loss.item(), gradients))
    distributed.barrier()


def run(train, *more, ranks=2):
    """[(loss, {name: gradient})] of each rank."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    context = multiprocessing.get_context("spawn")
    made = context.Queue()
    with tempfile.TemporaryDirectory() as directory:
        meet = os.path.join(directory, "meet")
        every = [
            context.Process(
                target=process, args=(rank, ranks, meet, made, train, *more)
            )
            for rank in range(ranks)
        ]
        for one in every:
            one.start()
        seconds = 120 * int(os.environ.get("TIME_SCALE", 3))
        found = sorted(
            (made.get(timeout=seconds) for _ in every), key=lambda one: one[0]
        )
        for one in every:
            one.join()
    return [(loss, gradients) for _, loss, gradients in found]


class SameAsReference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        arrays = {name: value.numpy() for name, value in weights().items()}
        model = models_torch.load(
            arrays, models_torch.Options(SIZES.heads), torch.float64
        )
        losses = models_torch.accumulate(model, batches())
        cls.loss = losses["lm"]
        cls.gradients = {n: p.grad for n, p in model.named_parameters()}

    def compare(self, gradients, part):
        for name, found in gradients.items():
            want = part(name, self.gradients[name])
            self.assertEqual(found.shape, want.shape, name)
            error = (torch.from_numpy(found) - want).norm()
            self.assertLessEqual(error, 1e-12, name)

    def test_pipeline(self):
        for kind in "plain", "baddbmm":
            with self.subTest(attention=kind):
                ends = run(pipeline, kind, (2, 1))
                self.assertAlmostEqual(ends[1][0], self.loss, places=12)
                for _, gradients in ends:
                    self.compare(gradients, lambda name, whole: whole)
                # Both together have all; both have the word embeddings.
                names = [set(g) for _, g in ends]
                self.assertEqual(names[0] | names[1], set(self.gradients))
                self.assertEqual(
                    names[0] & names[1], {"word_embeddings.weight"}
                )

    def test_tensor(self):
        for kind in "plain", "baddbmm":
            with self.subTest(attention=kind):
                for rank, (loss, gradients) in enumerate(
                    run(tensor, kind, 2)
                ):
                    self.assertAlmostEqual(loss, self.loss, places=12)
                    self.compare(
                        gradients,
                        lambda n, w, r=rank: peer_tensor.part(n, w, r, 2),
                    )
                    self.assertEqual(set(gradients), set(self.gradients))


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
