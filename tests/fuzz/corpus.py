"""Inputs that fuzzing begins with, a directory for each reader of fuzz.c."""
import json
import os
import struct
import sys


def idx(lengths, bounds, code=8, width=2, extra=b""):
    pointers = [width * sum(lengths[:i]) for i in range(len(lengths))]
    data = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths),
                                        len(bounds))
    data += struct.pack(f"<{len(lengths)}i", *lengths)
    data += struct.pack(f"<{len(lengths)}q", *pointers)
    data += struct.pack(f"<{len(bounds)}q", *bounds)
    return bytes([width * sum(lengths)]) + data + extra


def safetensors(tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, dtype, shape, content in tensors:
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


TENSOR = {"name": "wte", "full": [8, 4], "first": [0, 0], "shape": [4, 4],
          "elements": [0, 16], "xxh3": "0123456789abcdef"}
FILE = {"name": "rank-00000.safetensors", "bytes": 128,
        "xxh3": "fedcba9876543210", "tensors": [TENSOR]}
MANIFEST = {"format": "mtlm-dag checkpoint", "version": 1, "iteration": 3,
            "consumed_samples": 24, "settings": {"num-layers": "2"},
            "state": {"steps": 3.0}, "files": [FILE, FILE]}


def manifest(kind, value):
    """Without the end, which has the checksum."""
    text = json.dumps(value, indent=1)
    return kind + (text if kind == b"p" else text[:-2]).encode()


CORPUS = {
    "idx": [idx([3, 1, 0, 5], [0, 1, 1, 4]), idx([2], [0, 1]),
            idx([4, 4], [0, 2], 4, 4), idx([3], [0, 1], extra=b"\0"),
            idx([1, 2], [0, 1, 2], 5, 8), idx([7], [0, 1], 1, 1)],
    "safetensors": [
        safetensors([]),
        safetensors([("a", "F32", [2, 3], bytes(24))], {"format": "pt"}),
        safetensors([("a", "BF16", [], b"ab"), ("b.c", "I64", [0, 5], b""),
                     ("d", "BOOL", [1, 1, 3], b"\0\1\0")]),
        safetensors([("x", "U8", [4], b"1234"), ("y", "F64", [1], bytes(8)),
                     ("z", "F16", [2], bytes(4)), ("i", "I32", [1], bytes(4)),
                     ("j", "I16", [1], b"ab"), ("k", "I8", [1], b"a")])],
    "manifest": [manifest(b"s", MANIFEST), manifest(b"p", FILE),
                 manifest(b"s", dict(MANIFEST, version=2)),
                 manifest(b"s", dict(MANIFEST, files=[])),
                 manifest(b"r", MANIFEST)],
    "config": [b"num-layers = 12\n# a comment\nmock-data = yes\n",
               b"lr=1e-4\r\nsplit = 90,5,5\nhidden-size : 64\n",
               b"trace-iterations = 3:5\nrampup-batch-size = 4 4 100\n",
               b"slow-rank = 3:0.8\nschedule = zb-h1\nsave = a b ; c\n"],
    "vocabulary_json": ['{"a":0,"b":1,"\\u0120the":2,"é":3}'.encode(),
                        b'{"a":1,"b":0}', b'{"<|endoftext|>":0}', b"{}"],
    "vocabulary_lines": ["[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##ing\né\n"
                         .encode(), b"a\r\nb\r\n", b"a\nb\na\n"],
    "merges": [b"#version: 0.2\na b\nab c\nb c\nab ab\nabc abc\n",
               b"#version\na b\r\n", b"#version: 0.2\n"],
}


def main():
    for name, inputs in CORPUS.items():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        for i, data in enumerate(inputs):
            with open(os.path.join(folder, f"seed-{i}"), "wb") as file:
                file.write(data)


main()
