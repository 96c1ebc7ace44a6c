"""Reads what `mtlm-dag --dump-first-step DIR` wrote."""

import glob
import json
import sys

import numpy as np

FIELDS = "tokens", "labels", "loss_mask", "types", "length", "order"


def read_safetensors(path):
    """Returns {name: array} and {name: (first row, first column)}."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    first = {
        key[: -len(".first")]: tuple(map(int, value.split()))
        for key, value in header.pop("__metadata__", {}).items()
        if key.endswith(".first")
    }
    types = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], types[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors, first


def assemble(directory):
    """Whole tensors out of the shards of all ranks; what several ranks hold
    must be the same on each."""
    paths = sorted(glob.glob(directory + "/rank-*.safetensors"))
    if not paths:
        sys.exit(f"{directory}: no rank-*.safetensors")
    parts = {}
    for path in paths:
        tensors, first = read_safetensors(path)
        for name, array in tensors.items():
            parts.setdefault(name, []).append((first.get(name), array))
    whole = {}
    for name, pieces in parts.items():
        corners = {corner for corner, _ in pieces}
        by_corner = {}
        for corner, array in pieces:
            # NaN: another rank has it (--use-distributed-optimizer).
            known = by_corner.setdefault(corner, array)
            if array.dtype.kind == "f":
                by_corner[corner] = np.where(np.isnan(known), array, known)
        for corner, array in pieces:
            known = by_corner[corner]
            if not np.all((array == known) | (array != array)):
                sys.exit(f"{directory}: ranks disagree about {name}")
            if array.dtype.kind == "f" and np.isnan(known).any():
                sys.exit(f"{directory}: {name} has holes")
        if len(corners) == 1:
            whole[name] = by_corner[pieces[0][0]]
            continue
        flat = pieces[0][1].ndim == 1
        full = [0, 0]
        for (row, col), array in by_corner.items():
            shape = array.reshape(len(array), -1).shape
            full = [max(full[0], row + shape[0]), max(full[1], col + shape[1])]
        out = np.full(full, np.nan, pieces[0][1].dtype)
        for (row, col), array in by_corner.items():
            block = array.reshape(len(array), -1)
            out[row : row + block.shape[0], col : col + block.shape[1]] = block
        if np.isnan(out).any():
            sys.exit(f"{directory}: {name} has holes")
        whole[name] = out[:, 0] if flat else out
    return whole


def split(dump, vocab):
    """Weights, gradients without the vocabulary's padding, the fields of the
    samples, and the rest."""
    weights, gradients, batch, rest = {}, {}, {}, {}
    for name, array in dump.items():
        if name in FIELDS:
            batch[name] = array
        elif name in ("loss", "sop_loss", "grad_norm"):
            rest[name] = array
        elif name.endswith(".grad"):
            gradients[name[: -len(".grad")]] = array.astype(np.float64)
        else:
            weights[name] = array
    word = "word_embeddings.weight"
    rest["padding"] = 0
    for name in word, "lm_head.bias":
        if name not in weights:
            continue
        rest["padding"] = max(
            rest["padding"], np.abs(gradients[name][vocab:]).max(initial=0)
        )
        weights[name] = weights[name][:vocab]
        gradients[name] = gradients[name][:vocab]
    return weights, gradients, batch, rest
