#!/usr/bin/env python3
"""Greedy text of bytes beside the logits of an evaluation.

Usage: generate_check.py data TEXT PREFIX
           a data set whose only document is twice the text of TEXT, without
           its end of line; prints the tokens of the text: samples of this
           length begin where the text begins
       generate_check.py compare TEXT PROMPT LOGITS
           after the PROMPT bytes of the prompt, each byte of TEXT is the first
           of the greatest logits that `mtlm-dag --dump-logits` wrote"""

import json
import struct
import sys
from pathlib import Path

WORDS = 257


def read_text(path):
    text = Path(path).read_bytes()
    assert text.endswith(b"\n")
    return text[:-1]


def write_data(text, prefix):
    n = len(text)
    Path(prefix + ".bin").write_bytes(struct.pack(f"<{2 * n}H", *text, *text))
    Path(prefix + ".idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQiqqq", 1, 8, 1, 2, 2 * n, 0, 0, 1))
    print(n)


def read_logits(directory):
    (path,) = Path(directory).iterdir()
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8:8 + n])["logits"]
    begin, end = entry["data_offsets"]
    samples, rows, words = entry["shape"]
    assert samples == 1 and words == WORDS
    values = struct.unpack(f"<{rows * words}f", data[8 + n + begin:8 + n + end])
    return [values[i * words:(i + 1) * words] for i in range(rows)]


def compare(text, prompt, logits):
    assert len(logits) == len(text) and len(text) > prompt + 20
    for i in range(prompt, len(text)):
        row = logits[i - 1]
        best = row.index(max(row))
        assert text[i] == best, (i, text[i], best, row[text[i]], row[best])
    kinds = len(set(text[prompt:]))
    assert kinds > 5, "the same few bytes for ever"
    print(len(text) - prompt, "bytes,", kinds, "different ones")


if sys.argv[1] == "data":
    write_data(read_text(sys.argv[2]), sys.argv[3])
else:
    compare(read_text(sys.argv[2]), int(sys.argv[3]), read_logits(sys.argv[4]))
