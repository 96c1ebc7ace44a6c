#!/usr/bin/python3
"""loss_check.py METRICS TABLE SVG: do the table and the picture of mtlm-report
--loss tell what the file of --metrics holds?  Ticks of the picture's axes say
which value a pixel is."""

import json
import re
import sys
from xml.etree import ElementTree

from checks import expect, finish

SVG = "{http://www.w3.org/2000/svg}"


def ticks(root, anchor, moving):
    """[(pixel, value)] of labels on one axis; moving: the coordinate that
    differs from label to label."""
    found = []
    for text in root.iter(SVG + "text"):
        if text.get("class") == anchor and text.get(moving):
            try:
                found.append((float(text.get(moving)), float(text.text)))
            except ValueError:
                pass
    return found


def line_through(labels):
    (p, v), (q, w) = labels[0], labels[-1]
    return lambda pixel: v + (pixel - p) * (w - v) / (q - p)


def main():
    with open(sys.argv[1]) as file:
        rows = [json.loads(line) for line in file][1:]
    losses = [(r["iteration"], r["lm_loss"]) for r in rows if "lm_loss" in r]
    valid = [(r["iteration"], r["validation"]["lm_loss"])
             for r in rows if "validation" in r]
    test = [r["test"]["lm_loss"] for r in rows if "test" in r]

    with open(sys.argv[2]) as file:
        _, line = file.read().strip().split("\n")
    least = min(valid, key=lambda point: point[1])
    want = [str(losses[-1][0]), f"{losses[-1][1]:.4f}", "1",
            f"{valid[-1][1]:.4f}", f"{least[1]:.4f}", str(least[0]),
            f"{test[-1]:.4f}"]
    expect(line.split()[1:] == want, line, want)

    root = ElementTree.parse(sys.argv[3]).getroot()
    iteration = line_through(ticks(root, "m", "x"))
    loss = line_through(ticks(root, "e", "y")[:2])
    (path,) = [p.get("d") for p in root.iter(SVG + "path")
               if p.get("class") == "mean" and "L" in p.get("d")]
    points = [tuple(map(float, xy.split())) for xy in re.split("[ML]", path)[1:]]
    expect(len(points) == len(losses), path)
    # A text's baseline is below its tick.
    below = 0.35 * 13
    for (x, y), (i, value) in zip(points, losses):
        expect(abs(iteration(x) - i) < 0.01, x, i)
        expect(abs(loss(y + below) - value) < 0.01, y, value)
    circles = [c for c in root.iter(SVG + "circle") if c.find(SVG + "title") is not None]
    expect(len(circles) == len(valid), len(circles), valid)
    for circle, (i, value) in zip(circles, valid):
        expect(abs(iteration(float(circle.get("cx"))) - i) < 0.01, i)
        expect(abs(loss(float(circle.get("cy")) + below) - value) < 0.01, value)
    finish(len(points), "points,")


main()
