"""Does make fuzz link?  Every function of ours that its sources call is defined
in one of them: clang is not needed to see that, the objects of the build are
enough."""

import glob
import os
import re
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("srcdir", "."))
BUILD = os.path.abspath(os.environ.get("builddir", "."))
DEFINED = re.compile(r"^[a-z][^\n;=]*\b((?:__wrap_)?mtlm_\w+)\([^;]*?\)\n\{",
                     re.M)
CALLED = re.compile(r"\bmtlm_[a-z0-9_]+(?=\()")


def listed():
    with open(os.path.join(SOURCE, "tests/fuzz/include.am"),
              encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    lists = re.findall(r"^fuzz_(?:named|sources) =(.*)$", text, re.M)
    assert len(lists) == 2
    return " ".join(lists).split()


def object_of(source):
    name = os.path.splitext(os.path.basename(source))[0]
    folder = os.path.join(BUILD, os.path.dirname(source))
    found = [path for path in glob.glob(os.path.join(folder, "*.o"))
             if re.fullmatch(rf"(lib[a-z]+_a-)?{re.escape(name)}\.o",
                             os.path.basename(path))]
    return found[0] if found else None


def symbols(path):
    """Of ours: defined, undefined."""
    lines = subprocess.run(["nm", path], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    parts = [line.split()[-2:] for line in lines]
    return ({name for kind, name in parts if kind in "BDRTV"},
            {name for kind, name in parts
             if kind == "U" and name.startswith("mtlm_")})


def main():
    defined, called, failures = set(), {}, 0
    for source in listed():
        if source.startswith("tests/fuzz/"):
            with open(os.path.join(SOURCE, source), encoding="utf-8") as file:
                text = file.read()
            here = set(DEFINED.findall(text))
            there = set(CALLED.findall(text)) - here
        else:
            path = object_of(source)
            if not path:
                print(f"{source}: no object")
                failures += 1
                continue
            here, there = symbols(path)
        defined |= here
        for name in there:
            called.setdefault(name, source)
    for name, source in sorted(called.items()):
        if name not in defined and not inline(name):
            print(f"{source} calls {name}(), which no source of make fuzz has")
            failures += 1
    print(f"{len(defined)} definitions, {len(called)} calls, {failures} missing")
    return failures > 0 or not called


def inline(name):
    """Is the function defined in a header?"""
    for folder in "runtime", "models", "graph", "launch":
        for path in glob.glob(os.path.join(SOURCE, folder, "**", "*.h"),
                              recursive=True):
            with open(path, encoding="utf-8") as file:
                if re.search(rf"^static inline[^;]*?\b{name}\(", file.read(),
                             re.M):
                    return True
    return False


sys.exit(main())
