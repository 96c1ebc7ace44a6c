#!/usr/bin/env python3
"""What tests/first_hour.sh relies on, read by nothing of ours.

Usage: first_hour_check.py learns METRICS N
           N iterations, from the loss of a guess to one that knows letters
       first_hour_check.py validation METRICS METRICS
           the last validations have the same loss
       first_hour_check.py same METRICS METRICS FIRST BOUND
           after iteration FIRST both have the same losses, relatively up to
           BOUND
       first_hour_check.py picture METRICS TABLE SVG
           the table has the mean of the last losses, and a curve of the picture goes down
           from the first iteration to the last
       first_hour_check.py exported DIR METRICS CHECKPOINT
           the safetensors and config.json of a GPT-2 with all parameters and
           the word embeddings of the checkpoint"""

import json
import math
import re
import sys
from array import array
from pathlib import Path
from xml.etree import ElementTree

BYTES = 257  # tokens
SVG = "{http://www.w3.org/2000/svg}"


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def losses(path):
    """{iteration: loss} of the training."""
    return {f["iteration"]: f["lm_loss"] for f in lines(path) if "lm_loss" in f}


def learns(path, iterations):
    found = losses(path)
    assert list(found) == list(range(1, int(iterations) + 1)), list(found)
    values = list(found.values())
    first, last = values[0], sum(values[-10:]) / 10
    print(f"from {first:.3f} to {last:.3f}")
    assert abs(first - math.log(BYTES)) < 0.6
    assert last < first - 2
    (end,) = [f["validation"]["lm_loss"] for f in lines(path)
              if "validation" in f and f["iteration"] == int(iterations)]
    assert abs(end - last) < 0.5, end


def validation(*paths):
    ends = [[f["validation"]["lm_loss"] for f in lines(p) if "validation" in f]
            for p in paths]
    assert ends[0][-1:] == ends[1] and ends[1], ends


def same(a, b, first, bound):
    a, b = losses(a), losses(b)
    a = {i: loss for i, loss in a.items() if i > int(first)}
    assert a.keys() == b.keys() and a, (sorted(a), sorted(b))
    far = max(abs(a[i] / b[i] - 1) for i in a)
    assert far <= float(bound), far


def picture(path, table, svg):
    found = losses(path)
    n = len(found) // 50 if len(found) >= 100 else 1
    last = f"{sum(list(found.values())[-n:]) / n:.4f}"
    assert last in Path(table).read_text().split(), last
    (curve,) = [p.get("d") for p in ElementTree.parse(svg).getroot().iter(SVG + "path")
                if p.get("class") == "mean" and "L" in p.get("d")]
    points = [tuple(map(float, p.split())) for p in re.split("[ML]", curve)[1:]]
    assert len(points) == len(found), len(points)
    assert [x for x, _ in points] == sorted({x for x, _ in points})
    assert points[0][1] < points[-1][1] - 50, points  # y grows downwards


def tensors(path):
    """{name: (shape, values)} of a file of F32 that ends with its last one."""
    data = path.read_bytes()
    n = int.from_bytes(data[:8], "little")
    found, ends = {}, [0]
    for name, entry in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = array("f", data[8 + n + begin:8 + n + end])
        assert entry["dtype"] == "F32" and math.prod(entry["shape"]) == len(values)
        found[name] = entry["shape"], values
        ends.append(end)
    assert 8 + n + max(ends) == len(data)
    return found


def exported(directory, metrics, checkpoint):
    config = json.loads((Path(directory) / "config.json").read_text())
    found = tensors(Path(directory) / "model.safetensors")
    h, layers = config["n_embd"], config["n_layer"]
    assert config["model_type"] == "gpt2" and config["vocab_size"] == BYTES
    assert config["bos_token_id"] == config["eos_token_id"] == BYTES - 1
    shapes = {"wte.weight": [BYTES, h], "wpe.weight": [config["n_positions"], h],
              "ln_f.weight": [h], "ln_f.bias": [h]}
    for i in range(layers):
        for name, a, b in (("attn.c_attn", h, 3 * h), ("attn.c_proj", h, h),
                           ("mlp.c_fc", h, 4 * h), ("mlp.c_proj", 4 * h, h)):
            shapes[f"h.{i}.{name}.weight"] = [a, b]
            shapes[f"h.{i}.{name}.bias"] = [b]
        for name in "ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias":
            shapes[f"h.{i}.{name}"] = [h]
    shapes = {"transformer." + name: shape for name, shape in shapes.items()}
    assert {n: shape for n, (shape, _) in found.items()} == shapes
    values = [v for _, of in found.values() for v in of]
    assert all(map(math.isfinite, values))
    about = lines(metrics)[0]
    assert len(values) == about["parameters"], (len(values), about["parameters"])
    words = [of for file in Path(checkpoint).glob("rank-*.safetensors")
             for name, (_, of) in tensors(file).items()
             if name == "word_embeddings.weight"]
    mine = found["transformer.wte.weight"][1]
    assert words and all(of[:len(mine)] == mine for of in words)
    print(f"{len(found)} tensors, {len(values)} values")


{"learns": learns, "validation": validation, "same": same,
 "picture": picture, "exported": exported}[sys.argv[1]](*sys.argv[2:])
