"""Exported heads of fine-tuning tasks, run by Hugging Face's transformers.

Usage: task_heads.py [MODEL=LOGITS]...
           every logit that `mtlm-dag --dump-logits LOGITS` wrote is, within 1e-5
           of the greatest one, that of the class which config.json of MODEL
           names, on the same samples in float64"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from dump_files import read_safetensors
from huggingface import BOUND, off


def read_logits(directory):
    """The items of all ranks, in the order of the data."""
    ranks = [read_safetensors(p)[0]
             for p in sorted(Path(directory).glob("rank-*.safetensors"))]
    all_ranks = {name: np.concatenate([r[name] for r in ranks])
                 for name in ranks[0]}
    order = np.argsort(all_ranks["sample"])
    assert (all_ranks["sample"][order] == np.arange(len(order))).all()
    for name, values in all_ranks.items():
        each = len(order) // len(values)
        all_ranks[name] = values[order[::each] // each]
    return all_ranks


def load(path):
    config = json.loads((Path(path) / "config.json").read_text())
    kind = getattr(transformers, config["architectures"][0])
    model, loaded = kind.from_pretrained(path, output_loading_info=True)
    assert not any(loaded[k] for k in ("missing_keys", "mismatched_keys",
                                       "unexpected_keys")), loaded
    return model.double().eval()


def forward(model, found):
    """Logits by the names of the dump, and which of them count."""
    tokens, types = (torch.from_numpy(found[n].astype(np.int64))
                     for n in ("tokens", "types"))
    length = torch.from_numpy(found["length"].astype(np.int64))
    inside = torch.arange(tokens.shape[1])[None] < length.reshape(-1, 1)
    batch = {"input_ids": tokens, "token_type_ids": types,
             "attention_mask": inside.long()}
    if "start_logits" in found:
        out = model(**batch)
        inside = inside.numpy()
        return {n: (getattr(out, n).numpy(), inside)
                for n in ("start_logits", "end_logits")}
    items, columns = found["task_logits"].shape
    if len(tokens) > items:
        batch = {n: b.reshape(items, columns, -1) for n, b in batch.items()}
    return {"task_logits": (model(**batch).logits.numpy(),
                            np.full((items, columns), True))}


def compare(path, directory):
    found, good = read_logits(directory), True
    model = load(path)
    for name, (want, counts) in forward(model, found).items():
        assert found[name].shape == want.shape, (found[name].shape, want.shape)
        error = off(found[name][counts], want[counts])
        good = good and error <= BOUND  # not for a NaN
        print(f"{type(model).__name__}, {directory}: {name} of {len(want)}, up "
              f"to {np.abs(want[counts]).max():.3g}, off by {error:.1e}")
    return good


transformers.logging.set_verbosity_error()
with torch.no_grad():
    sys.exit(not all([compare(*pair.split("=")) for pair in sys.argv[1:]]))
