"""What perf/generate needs: a vocabulary, when each token was there, and the
figures of a text."""

import json
import os
import statistics
import subprocess
import tempfile
import time

from bench import programs
from bench.ours import Failure

# Passes of this many tokens around a position: their median counts.
AROUND = 20
LETTERS = b"abcdefghijklmnopqrstuvwxyz"


def vocabulary(size=50257):
    """Bytes of each token: all single ones, then pairs, of which none are two
    letters, so that each letter of a prompt stays a token; the last token ends
    a document."""
    tokens = [bytes([b]) for b in range(256)]
    pairs = (
        bytes([a, b])
        for a in range(256)
        for b in range(256)
        if not (a in LETTERS and b in LETTERS)
    )
    tokens += [next(pairs) for _ in range(size - 1 - len(tokens))]
    return tokens + [b""]


def names():
    """GPT-2's character of each byte."""
    own = [b for b in range(256) if 33 <= b < 127 or 161 <= b < 173 or b > 173]
    others = [b for b in range(256) if b not in own]
    return {b: chr(b) for b in own} | {
        b: chr(256 + i) for i, b in enumerate(others)
    }


def write_vocabulary(tokens, directory):
    """The options that give its files to mtlm-dag."""
    name = names()
    texts = ["".join(name[b] for b in t) for t in tokens[:-1]]
    files = [os.path.join(directory, n) for n in ("vocab.json", "merges.txt")]
    with open(files[0], "w") as file:
        json.dump(
            {t: i for i, t in enumerate([*texts, "<|endoftext|>"])}, file
        )
    with open(files[1], "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n")
        file.writelines(f"{t[0]} {t[1]}\n" for t in texts if len(t) == 2)
    return ["--vocab-file", files[0], "--merge-file", files[1]]


def arrivals(chunks, text):
    """When each of the texts [bytes of a token] was there.  chunks: [(seconds,
    bytes)] as they came; the texts stand at the end of all, before a line
    end."""
    whole = b"".join(piece for _, piece in chunks)
    if not whole.endswith(b"".join(text) + b"\n"):
        raise Failure("mtlm-dag wrote another text than transformers")
    at = len(whole) - 1 - sum(map(len, text))
    seconds, number, there = [], 0, len(chunks[0][1])
    for piece in text:
        at += len(piece)
        while there < at:
            number += 1
            there += len(chunks[number][1])
        seconds.append(chunks[number][0])
    return seconds


def figures(seconds, prompt, positions):
    """Of a text, from when each of its tokens was there: tokens per second, how
    much longer the second half takes, and at: {position: seconds of a
    token}."""
    steps = [b - a for a, b in zip(seconds, seconds[1:])]
    at = {}
    for position in positions:
        # The step that sees so many positions.
        step = min(position - prompt - 1, len(steps) - 1)
        near = steps[max(0, step - AROUND) : step + AROUND + 1]
        at[position] = statistics.median(near)
    half = len(steps) // 2
    return {
        "rate": len(steps) / (seconds[-1] - seconds[0]),
        "halves": sum(steps[-half:]) / sum(steps[:half]),
        "at": at,
    }


def middle(rounds):
    """The figures of the round in the middle, and the range of rates."""
    order = sorted(rounds, key=lambda found: found["rate"])
    return {
        **order[(len(order) - 1) // 2],
        "worst": order[0]["rate"],
        "best": order[-1]["rate"],
    }


def stream(command):
    """[(seconds, bytes)] of what a program writes."""
    chunks = []
    with tempfile.TemporaryFile("w+") as errors, programs.started(
        command, stdout=subprocess.PIPE, stderr=errors
    ) as run:
        while piece := os.read(run.stdout.fileno(), 1 << 16):
            chunks.append((time.perf_counter(), piece))
        if run.wait():
            errors.seek(0)
            raise Failure(f"{command[0]}: {errors.read().strip()[-1500:]}")
    return chunks
