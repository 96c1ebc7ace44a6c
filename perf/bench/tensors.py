"""Reads safetensors without holding the file."""

import json

import numpy as np

TYPES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}


def read(path):
    """{name: array}, mapped."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    data = np.memmap(path, np.uint8, "r", 8 + size)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = data[begin:end].view(TYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors
