#!/usr/bin/env python3
"""Whether two checkpoints hold the same tensors, bit for bit, whatever the
layouts that wrote them; and whether the slices of each cover every element
once.  Usage: checkpoint_same.py ROWS A B, with ROWS tokens without padding."""

import json
import struct
import sys
from pathlib import Path


def read_file(path):
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + n])
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            assert entry["dtype"] == "F32"
            yield name, data[8 + n + begin:8 + n + end]


def read(directory, tokens):
    """{name: {(row, col): four bytes}}, without rows that pad."""
    manifest = json.loads((directory / "manifest.json").read_text())
    whole = {}
    for file in manifest["files"]:
        data = dict(read_file(directory / file["name"]))
        assert len(data) == len(file["tensors"])
        for t in file["tensors"]:
            (_, cols), (row0, col0) = t["full"], t["first"]
            width, (begin, count) = t["shape"][1], t["elements"]
            padded = t["name"].startswith("word_embeddings")
            values = struct.unpack(f"<{count}I", data[t["name"]])
            into = whole.setdefault(t["name"], {})
            for i, value in enumerate(values, begin):
                place = row0 + i // width, col0 + i % width
                assert place not in into, (t["name"], place, "twice")
                if not padded or place[0] < tokens:
                    into[place] = value
            into.setdefault("size", (min(t["full"][0], tokens) if padded
                                     else t["full"][0]) * cols)
    for name, into in whole.items():
        size = into.pop("size")
        assert len(into) == size, (name, len(into), size)
    return whole


def main():
    tokens = int(sys.argv[1])
    a, b = (read(Path(p), tokens) for p in sys.argv[2:4])
    assert a.keys() == b.keys(), a.keys() ^ b.keys()
    for name in a:
        assert a[name] == b[name], name
    print(len(a), "tensors")


main()
