"""The models that perf/train_vs_pytorch times in PyTorch compute what the
reference computes, with every formulation of attention."""

import json
import os
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)

source = os.environ.get("srcdir", ".")
sys.path[:0] = [
    os.path.join(source, "perf"),
    os.path.join(source, "tests", "reference"),
]

import models_torch  # noqa: E402
from bench import cases, gpu_cases, peer, peer_gpu, peer_model  # noqa: E402

B, S, VOCAB = 3, 10, 40


def weights_of(bert):
    """A state dictionary that both take: random, all of it."""
    torch.manual_seed(1)
    sizes = cases.Model("small", 2, 24, 3, VOCAB, 16, bert)
    names = peer_model.Model(sizes, "plain").state_dict()
    return sizes, {
        name: 0.3 * torch.randn(value.shape, dtype=torch.float64)
        for name, value in names.items()
    }


def batch_of(bert, padded):
    torch.manual_seed(2)
    length = torch.tensor([[S - 3], [S], [4]] if padded else [[S]] * B)
    mask = torch.ones(B, S, dtype=torch.int64)
    if bert:
        mask = torch.randint(0, 2, (B, S))
        mask[:, 0] = 1
        mask[torch.arange(S)[None] >= length] = 0
    return {
        "tokens": torch.randint(0, VOCAB, (B, S)),
        "labels": torch.randint(0, VOCAB, (B, S)),
        "loss_mask": mask,
        "types": torch.randint(0, 2, (B, S)),
        "length": length,
        "order": torch.tensor([[0], [1], [1]]),
    }


class SameAsReference(unittest.TestCase):
    def reference(self, weights, batch):
        arrays = {name: value.numpy() for name, value in weights.items()}
        options = models_torch.Options(3)
        model = models_torch.load(arrays, options, torch.float64)
        losses = models_torch.accumulate(model, [batch])
        return losses, dict(model.named_parameters())

    def check(self, bert, padded):
        sizes, weights = weights_of(bert)
        batch = batch_of(bert, padded)
        losses, parameters = self.reference(weights, batch)
        for kind in peer_model.ATTENTION:
            with self.subTest(attention=kind):
                model = peer_model.Model(sizes, kind).double()
                model.load_state_dict(weights)
                found = model(batch)
                sum(found).backward()
                want = [losses["lm"]] + ([losses["sop"]] if bert else [])
                for x, y in zip(found, want):
                    self.assertAlmostEqual(x.item(), y, places=12)
                for name, p in model.named_parameters():
                    error = (p.grad - parameters[name].grad).norm()
                    self.assertLessEqual(error, 1e-12, name)

    def test_gpt(self):
        self.check(bert=False, padded=False)

    def test_bert(self):
        self.check(bert=True, padded=False)

    def test_bert_with_padding(self):
        self.check(bert=True, padded=True)

    def test_parameters_of_bert_336m_are_those_of_the_paper(self):
        with torch.no_grad():
            model = peer_model.Model(cases.BERT, "plain")
        count = sum(p.numel() for p in model.parameters())
        self.assertEqual(count, 336297858)


def write_tensors(path, tensors):
    """safetensors."""
    header, data = {}, b""
    for name, array in tensors.items():
        begin, data = len(data), data + array.tobytes()
        header[name] = {
            "dtype": {"float32": "F32", "int32": "I32"}[array.dtype.name],
            "shape": array.shape,
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


class GivenWeights(unittest.TestCase):
    def test_a_gpu_s_peer_trains_the_weights_and_samples_that_it_is_given(self):
        """On a CPU: the losses of two iterations of three microbatches each,
        the first one's from the reference."""
        sizes, weights = weights_of(bert=False)
        batch = batch_of(bert=False, padded=False)
        case = gpu_cases.GpuCase("small", sizes, 3, 1, S)
        said = []
        with tempfile.TemporaryDirectory() as work:
            write_tensors(
                os.path.join(work, "rank-0.safetensors"),
                {n: w.float().numpy() for n, w in weights.items()},
            )
            twice = {n: torch.cat([f, f]).int().numpy() for n, f in batch.items()}
            write_tensors(os.path.join(work, "samples"), twice)
            peer_gpu.say = lambda **fields: said.append(fields)
            peer_gpu.train(
                {
                    "setting": "fp32",
                    "iterations": 2,
                    "weights": work,
                    "samples": os.path.join(work, "samples"),
                },
                case,
                peer_gpu.Device("cpu"),
            )
        arrays = {name: value.numpy() for name, value in weights.items()}
        model = models_torch.load(
            arrays, models_torch.Options(3), torch.float64
        )
        want = models_torch.accumulate(model, [batch])["lm"]
        self.assertAlmostEqual(said[0]["loss"], want, places=4)
        self.assertLess(said[1]["loss"], said[0]["loss"])


HAS_HOOK = hasattr(torch.Tensor, "register_post_accumulate_grad_hook")


@unittest.skipUnless(HAS_HOOK, "PyTorch before 2.1")
class WeightsInBf16(unittest.TestCase):
    def test_gradients_add_up_in_fp32_and_a_step_rounds_the_masters(self):
        torch.manual_seed(3)
        model = torch.nn.Linear(5, 3)
        before = [p.detach().clone() for p in model.parameters()]
        masters = peer.Masters(model)
        total = [torch.zeros_like(p) for p in before]
        for scale in 1, 1e-3:
            x = scale * torch.randn(7, 5).to(torch.bfloat16)
            model(x).square().sum().backward()
            again = torch.nn.Linear(5, 3).to(torch.bfloat16)
            again.load_state_dict(model.state_dict())
            again(x).square().sum().backward()
            for sum_, p in zip(total, again.parameters()):
                sum_ += p.grad
        for master, value, sum_ in zip(masters.masters, before, total):
            self.assertTrue(torch.equal(master, value))
            self.assertTrue(torch.equal(master.grad, sum_))
        torch.optim.SGD(masters.masters, lr=0.1).step()
        masters.round()
        for p, value, sum_ in zip(model.parameters(), before, total):
            self.assertIsNone(p.grad)
            self.assertTrue(torch.equal(p, (value - 0.1 * sum_).bfloat16()))


if __name__ == "__main__":
    unittest.main()
