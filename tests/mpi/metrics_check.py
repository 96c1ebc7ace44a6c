#!/usr/bin/python3
"""metrics_check.py LINES DIR LOG RANKS: do --metrics, --tensorboard-dir and
the log lines of one run tell the same?  TensorBoard's file is read by its
definition alone.

metrics_check.py DIR FIRST: is what TensorBoard's file holds whole, from that
step on?"""

import glob
import json
import math
import re
import struct
import sys

from checks import expect, finish


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        (check,) = struct.unpack_from("<I", data, at + 8)
        expect(check == masked(data[at : at + 8]), "length at", at)
        payload = data[at + 12 : at + 12 + length]
        (check,) = struct.unpack_from("<I", data, at + 12 + length)
        expect(check == masked(payload), "payload at", at)
        yield payload
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """[(number, value)] of a message of protocol buffers."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            form, size = {1: ("<d", 8), 5: ("<f", 4)}[wire]
            (value,) = struct.unpack_from(form, data, at)
            at += size
        found.append((key >> 3, value))
    return found


def read_events(directory):
    """{step: {tag: value}}, the steps in order."""
    (path,) = glob.glob(directory + "/events.out.tfevents.*")
    with open(path, "rb") as file:
        first, start, *rest = [dict(fields(r)) for r in records(file.read())]
    expect(first[3] == b"brain.Event:2", "file version", first)
    # So TensorBoard forgets what earlier files have of these steps.
    expect(fields(start[7]) == [(1, 1)], "the session's start", start)
    expect(start[2] == rest[0][2], "the session's first step", start, rest[0])
    steps = {}
    for event in rest:
        expect(event[1] > 1.6e9, "wall time", event)
        for number, value in fields(event[5]):
            expect(number == 1, "summary")
            scalar = dict(fields(value))
            tags = steps.setdefault(event[2], {})
            expect(scalar[1] not in tags, "twice", event[2], scalar)
            tags[scalar[1].decode()] = scalar[2]
    return steps


def near(a, b, digits):
    return math.isclose(a, b, rel_tol=10.0**-digits, abs_tol=1e-30)


TAGS = {
    "learning-rate": "learning_rate",
    "batch-size": "global_batch_size",
    "lm loss": "lm_loss",
    "loss-scale": "loss_scale",
    "grad-norm": "grad_norm",
    "params-norm": "params_norm",
    "throughput": "tflops_per_rank",
    "tokens per second": "tokens_per_second",
}


def check_events(steps, tags, evals):
    for s in steps:
        found = tags.get(s["iteration"], {})
        for tag, name in TAGS.items():
            expect(near(found.get(tag, -1), s[name], 6), tag, found, s)
        expect(near(1e3 * found["iteration-time"], s["iteration_ms"], 6), s)
    for e in evals:
        found, loss = tags[e["iteration"]], e["validation"]["lm_loss"]
        expect(near(found["lm loss validation"], loss, 6), e)
        expect(near(found["lm loss validation ppl"], math.exp(loss), 5), e)


def check_log(steps, path):
    with open(path) as file:
        lines = [x for x in file if re.match(r" \[.*\] iteration ", x)]
    expect(len(lines) == len(steps), len(lines), "lines", len(steps), "steps")
    for line, s in zip(lines, steps):
        said = dict(re.findall(r" ([a-zA-Z/() ]+): +([-+.0-9E]+) \|", line))
        number = {k: float(v) for k, v in said.items()}
        expect(f"{s['lm_loss']:.6E}" == said["lm loss"], line, s)
        expect(f"{s['learning_rate']:.6E}" == said["learning rate"], line, s)
        expect(f"{s['grad_norm']:.3f}" == said["grad norm"], line, s)
        expect(number["consumed samples"] == s["consumed_samples"], line, s)
        expect(
            f"{s['tflops_per_rank']:.1f}"
            == said["throughput per GPU (TFLOP/s/GPU)"],
            line,
            s,
        )
        expect(
            f"{s['iteration_ms']:.1f}"
            == said["elapsed time per iteration (ms)"],
            line,
            s,
        )


def check_throughput(s, o, ranks):
    """72 B s l h^2 (1 + s / 6h + V / 12lh) FLOPs, in that time."""
    h, l, seq = o["hidden-size"], o["num-layers"], o["seq-length"]
    padded = 128 * math.ceil(o["vocab-size"] / 128)
    flops = (72 * s["global_batch_size"] * seq * l * h * h) * (
        1 + seq / (6 * h) + padded / (12 * l * h)
    )
    rate = 1e-12 * flops / (1e-3 * s["iteration_ms"]) / ranks
    expect(near(rate, s["tflops_per_rank"], 2), rate, s)


def check_whole(directory, first):
    steps = list(read_events(directory))
    expect(len(steps) > 1, "steps", steps)
    expect(steps == list(range(first, first + len(steps))), "steps", steps)
    finish(len(steps), "steps,")


def main():
    if len(sys.argv) == 3:
        check_whole(sys.argv[1], int(sys.argv[2]))
    lines, directory, log, ranks = sys.argv[1:]
    with open(lines) as file:
        header, *rest = [json.loads(line) for line in file]
    options = header["options"]
    expect(header["ranks"] == int(ranks), "ranks", header)
    expect(options["lr"] == 1e-3 and options["num-layers"] == 4, options)
    expect(options["log-throughput"] is True, options)
    expect(options["data-path"] is None, options)
    expect(options["lr-decay-style"] == "constant", options)
    steps = [s for s in rest if "lm_loss" in s]
    evals = [s for s in rest if "validation" in s]
    tests = [s for s in rest if "test" in s]
    expect([s["iteration"] for s in steps] == [1, 2, 3, 4], steps)
    expect([s["iteration"] for s in evals] == [2, 4], evals)
    expect([s["iteration"] for s in tests] == [4], tests)
    expect(len(rest) == 7, rest)
    check_events(steps, read_events(directory), evals)
    check_log(steps, log)
    check_throughput(steps[-1], options, int(ranks))
    finish(len(steps), "steps,")


main()
