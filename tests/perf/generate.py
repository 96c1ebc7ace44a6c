#!/usr/bin/env python3
"""perf/generate gives both programs the same prompt, and its figures are those
of the tokens' times."""

import os
import struct
import subprocess
import sys
import tempfile

TOP = os.environ.get("srcdir") or "."
sys.path.insert(0, os.path.join(TOP, "perf"))

from bench import generation  # noqa: E402
from bench.ours import Failure  # noqa: E402

BUILD = os.environ.get("builddir") or "build"


def vocabulary_is_read_as_meant(directory):
    """Tokens of mtlm-preprocess: letters alone, pairs with others."""
    tokens = generation.vocabulary()
    assert len(tokens) == len(set(tokens)) == 50257
    files = generation.write_vocabulary(tokens, directory)
    text = os.path.join(directory, "text")
    with open(text, "wb") as file:
        file.write(b"abcxyz\n\x00\x01")
    subprocess.run(
        [
            os.path.join(BUILD, "mtlm-preprocess"),
            *("--tokenizer-type", "GPT2BPETokenizer", *files),
            *("--input", text, "--output-prefix", text),
        ],
        check=True,
        capture_output=True,
    )
    with open(text + "_text_document.bin", "rb") as file:
        data = file.read()
    ids = struct.unpack(f"<{len(data) // 2}H", data)
    assert b"".join(tokens[i] for i in ids) == b"abcxyz\n\x00\x01", ids
    assert ids[:6] == tuple(b"abcxyz"), ids
    assert max(ids[:-1]) > 255 and ids[-1] == 50256, ids


def times_belong_to_their_tokens():
    chunks = [(10, b"pro"), (11, b"mptA"), (12, b"BC"), (14, b"DE\n")]
    found = generation.arrivals(chunks, [b"A", b"BC", b"", b"D", b"E"])
    assert found == [11, 12, 12, 14, 14], found
    try:
        generation.arrivals(chunks, [b"A", b"BD"])
    except Failure:
        return
    raise AssertionError("another text passes")


def figures_are_those_of_the_times():
    # 10 ms a token and 10 us more for each position before.
    seconds, now = [], 5.0
    for token in range(1000):
        seconds.append(now)
        now += 0.010 + 1e-5 * (token + 17)
    found = generation.figures(seconds, 16, [100, 500, 1000])
    for position, took in found["at"].items():
        want = 0.010 + 1e-5 * min(position, 1000 - 4)
        assert abs(took - want) < 1e-4, (position, took, want)
    assert abs(found["rate"] - 999 / (seconds[-1] - seconds[0])) < 1e-9
    assert 1.3 < found["halves"] < 1.5, found
    rounds = [{"rate": r} for r in (3, 1, 2)]
    assert generation.middle(rounds) == {"rate": 2, "worst": 1, "best": 3}


def programs_are_heard():
    chunks = generation.stream(["printf", "ab"])
    assert b"".join(piece for _, piece in chunks) == b"ab"
    try:
        generation.stream(["false"])
    except Failure:
        return
    raise AssertionError("a program that fails passes")


with tempfile.TemporaryDirectory() as scratch:
    vocabulary_is_read_as_meant(scratch)
times_belong_to_their_tokens()
figures_are_those_of_the_times()
programs_are_heard()
