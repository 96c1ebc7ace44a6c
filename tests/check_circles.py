#!/usr/bin/env python3
"""Circles of definitions: files of one library that need each other.

Reads the symbols of our libraries with nm.  File A needs file B when A uses a
symbol that B defines.  Files that need each other in a circle can only be
understood together, so each circle fails the test.  There are two exceptions,
both listed below: implementations behind one private header, and the table of
operations.

Usage: check_circles.py [BUILD_DIRECTORY]   (default: $builddir)
"""

import collections
import os
import re
import subprocess
import sys

LIBRARIES = (
    "runtime/libruntime.a",
    "models/libmodels.a",
    "codelets/libcodelets.a",
    "graph/libgraph.a",
    "launch/liblaunch.a",
)

# The table of operations: with CUDA an entry uses it (status.cu asks for types).
TABLE = "op_list"

# Private header: the files behind it may need each other.
FACADES = {
    "runtime/comm/engine_private.h": "engine_post message_task",
}


def symbols(archive):
    """Two maps of a library: symbol to defining file, file to used symbols."""
    defines, uses = {}, collections.defaultdict(set)
    text = subprocess.run(
        ["nm", "-A", "-g", "-P", archive],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for line in text.splitlines():
        match = re.match(r".*\[(.*)\.e?o\]: (\S+) (\S)", line)
        if not match:
            continue
        file, symbol, kind = match.groups()
        file = re.sub(r"^lib[a-z]+_a-", "", file)
        if kind in "TDBRCV":
            defines[symbol] = file
        elif kind in "Uw":
            uses[file].add(symbol)
    return defines, uses


def circles(edges):
    """The strongly connected components with several files (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for to in sorted(edges.get(node, ())):
            if to not in index:
                visit(to)
            if to in stack:
                low[node] = min(low[node], low[to])
        if low[node] == index[node]:
            cut = stack.index(node)
            if len(stack) - cut > 1:
                found.append(sorted(stack[cut:]))
            del stack[cut:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def excused(circle):
    return any(set(circle) <= set(f.split()) for f in FACADES.values())


def check(archive):
    """Prints the circles of a library; returns how many are no facade."""
    defines, uses = symbols(archive)
    assert defines, archive + ": no symbol"
    edges = {}
    why = collections.defaultdict(list)
    for file, used in uses.items():
        if file == TABLE:
            continue
        needs = {defines[s] for s in used if s in defines} - {file}
        edges[file] = needs
        for s in sorted(used):
            if s in defines:
                why[file, defines[s]].append(s)
    bad = 0
    for circle in circles(edges):
        if excused(circle):
            continue
        bad += 1
        print(f"{archive}: a circle of {len(circle)} files:")
        for a in circle:
            for b in circle:
                if (a, b) in why:
                    print(f"  {a} needs {b}: {', '.join(why[a, b][:4])}")
    return bad


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.environ["builddir"]
    bad = sum(check(os.path.join(build, a)) for a in LIBRARIES)
    print(f"{len(LIBRARIES)} libraries, {bad} circles")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
