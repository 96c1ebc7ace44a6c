"""Scores of zero-shot tasks, computed anew from the definitions of Megatron-LM
v2.6, with one token per byte.

Usage: task_scores.py words SEED TRAIN WIKITEXT PROMPTS
           writes a text to learn from, data of WikiText-103, and begins of
           passages, of a language in which a word mostly tells the next one
       task_scores.py passages TEXTS LAMBADA
           writes data of LAMBADA: what mtlm-dag added to PROMPTS with
           --max-new-tokens 12, whole words of it, every second passage with
           another end
       task_scores.py logits TASK DATA RESULT DIR S [OVERLAP]
           what mtlm-dag printed to RESULT are the scores of the logits that it
           dumped to DIR; samples of S tokens
       task_scores.py torch TASK DATA RESULT MODEL S [OVERLAP]
           the same with the logits of transformers
TASK: wikitext103, lambada, or strict (lambada --strict-lambada)"""

import array
import json
import math
import os
import random
import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../models"))
import wikitext_oracle  # noqa: E402

EOD, VOCABULARY = 256, 257
WORDS = "cat dog owl fox hen ran bat pig emu yak".split()


# ---- a language ----

def phrase(rng, n):
    word = rng.randrange(len(WORDS))
    words = []
    for _ in range(n):
        words.append(WORDS[word])
        step = 3 if rng.random() < 0.9 else rng.randrange(len(WORDS))
        word = (word + step) % len(WORDS)
    return words


def write_words(seed, train, wikitext, prompts):
    rng = random.Random(int(seed))
    with open(train, "w", encoding="utf-8") as file:
        for _ in range(400):
            file.write(" ".join(phrase(rng, 12)) + ".\n")
    with open(wikitext, "w", encoding="utf-8") as file:
        for _ in range(6):
            file.write(" \n = Of 1 @,@ 000 words = \n \n "
                       + " ".join(phrase(rng, 9)) + " , ( "
                       + " ".join(phrase(rng, 5)) + " ) ' é 's . \n")
    with open(prompts, "w", encoding="utf-8") as file:
        for n in range(29):
            file.write(" ".join(phrase(rng, 3 + n % 7)) + "\n")


def write_passages(texts, lambada):
    passages = Path(texts).read_text("utf-8").split("---------------\n")
    with open(lambada, "w", encoding="utf-8") as file:
        for n, text in enumerate(passages):
            end = text.rindex(" ", 0, -2) - n % 2
            file.write(json.dumps({"text": text[:end] + "z" * (n % 2)}) + "\n")


# ---- samples: tokens, and which labels count ----

def windows(data, s, overlap):
    tokens = list(wikitext_oracle.clean(data.decode()).encode())
    targets = len(tokens) - 1
    for i in range(max(math.ceil((targets - overlap) / overlap) + 1, 1)):
        part = tokens[i * overlap:i * overlap + s + 1]
        mask = [1] * (len(part) - 1) + [0] * (s + 1 - len(part))
        if overlap != s and i > 0:
            mask[:s - overlap] = [0] * (s - overlap)
        if any(mask):
            yield part + [EOD] * (s + 1 - len(part)), mask


def passages(data, s, strict):
    for line in data.decode().splitlines():
        text = json.loads(line)["text"]
        if strict:
            last = text.split()[-1]
            before = text[:text.rfind(last)].strip().encode()
            label = (" " + last).encode()
        else:
            before, label = text.encode()[:-1], text.encode()[-1:]
        tokens = list(before + label)[-s - 1:]
        mask = [0] * (len(tokens) - 1 - len(label)) + [1] * len(label)
        pad = s + 1 - len(tokens)
        yield tokens + [EOD] * pad, mask + [0] * pad


def samples_of(task, path, s, overlap):
    data = Path(path).read_bytes()
    if task == "wikitext103":
        return list(windows(data, s, overlap))
    return list(passages(data, s, task == "strict"))


# ---- logits ----

def read_dumps(directory, s):
    """Each sample of the dumps of all ranks: number, labels, mask, and a
    function from row to logits."""
    for path in sorted(Path(directory).iterdir()):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + size])
        kinds = {"F32": "f", "I32": "i", "I64": "q"}

        def read(name):
            entry = header[name]
            begin, end = (8 + size + at for at in entry["data_offsets"])
            return array.array(kinds[entry["dtype"]], data[begin:end])

        logits, numbers = read("logits"), read("sample")
        columns = header["logits"]["shape"][2]
        assert columns == VOCABULARY, columns
        fields = [read(name) for name in ("tokens", "labels", "loss_mask")]
        for i, number in enumerate(numbers):
            yield number, [f[i * s:(i + 1) * s] for f in fields], (
                lambda row, at=i: logits[(at * s + row) * columns:
                                         (at * s + row + 1) * columns])


def dumped(samples, directory, s):
    """Logits of each sample, in order; what was dumped must be the sample."""
    rows = [None] * len(samples)
    for number, (tokens, labels, mask), logits in read_dumps(directory, s):
        if number >= len(samples):
            assert not any(mask), f"sample {number} counts"
            continue
        whole, counts = samples[number]
        assert list(tokens) == whole[:-1], number
        assert list(mask) == counts, number
        assert all(got == want for got, want, count
                   in zip(labels, whole[1:], counts) if count), number
        assert rows[number] is None
        rows[number] = logits
    assert None not in rows
    return rows


def computed(samples, model):
    import torch
    from transformers import GPT2LMHeadModel
    gpt = GPT2LMHeadModel.from_pretrained(model).eval()
    rows = []
    with torch.no_grad():
        for whole, _ in samples:
            logits = gpt(torch.tensor([whole[:-1]])).logits[0].double()
            rows.append(lambda row, logits=logits: logits[row].tolist())
    return rows


# ---- scores ----

def score(samples, rows):
    """Sum of the negative log likelihoods, and samples without a miss."""
    loss = hits = 0
    for (whole, mask), logits in zip(samples, rows):
        right = True
        for k, counts in enumerate(mask):
            if not counts:
                continue
            row, label = logits(k), whole[k + 1]
            most = max(row)
            loss += most + math.log(sum(math.exp(x - most) for x in row)) \
                - row[label]
            right = right and row.index(most) == label
        hits += right
    return loss, hits


def numbers(path, task):
    (line,) = re.findall(f"^{task}: (.*)$", Path(path).read_text("utf-8"),
                         re.M)
    return [float(x) for x in re.findall(r"[\d.]+(?:e[+-]?\d+)?", line)]


def near(got, want):
    assert abs(got - want) <= 2e-5 * abs(want), (got, want)


def compare(samples, task, data, result, loss, hits):
    if task == "wikitext103":
        text = Path(data).read_bytes().decode()
        targets = len(wikitext_oracle.clean(text).encode()) - 1
        words = wikitext_oracle.words(text)
        ratio = targets / (words - 1)
        mean = loss / targets
        want = [mean, math.exp(min(20, mean)), math.exp(min(20, mean * ratio)),
                ratio, targets + 1, words]
        assert sum(sum(mask) for _, mask in samples) == targets
        assert mean > 0.1, mean
    else:
        want = [hits, len(samples), round(100 * hits / len(samples), 2)]
        assert 0 < hits < len(samples), f"{hits} hits tell little"
    got = numbers(result, "wikitext103" if task == "wikitext103" else "lambada")
    assert len(got) == len(want), (got, want)
    for one, other in zip(got, want):
        near(one, other)
    print(task, *want)


def main():
    if sys.argv[1] == "words":
        write_words(*sys.argv[2:])
        return
    if sys.argv[1] == "passages":
        write_passages(*sys.argv[2:])
        return
    kind, task, data, result, model, s, *overlap = sys.argv[1:]
    s = int(s)
    samples = samples_of(task, data, s, int(overlap[0]) if overlap else 32)
    rows = (dumped(samples, model, s) if kind == "logits"
            else computed(samples, model))
    compare(samples, task, data, result, *score(samples, rows))


main()
