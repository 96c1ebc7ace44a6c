#!/usr/bin/python3
"""Are the pages true to the tree, and short?

Reads README.md, NEWS.md, CONTRIBUTING.md, docs/*.md and the index of
perf/results.  Every link, the heading behind its # and every path in backticks
exist; every mtlm_ name stands in a source.  Every --option stands in the list
of the program's options, in a script or source that has options, or in FOREIGN.
No sentence has more than 25 words; tables, headings and code do not count.  The
index has every page of perf/results.
"""

import glob
import os
import re
import sys

LONGEST = 25
RESULTS = "perf/results/README.md"
FOLDERS = ("runtime", "graph", "models", "codelets", "launch", "tests",
           "perf", "docs", "man")
OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
# An --option that stands in these folders and files exists.
WITH_OPTIONS = ("launch", "perf", "runtime", "tests/mutants")
OTHER_FILES = ("configure.ac", "m4/mtlm_flags.m4", "docs/pictures/published.py")
# Options of other programs.
FOREIGN = {
    "sbatch, srun, scancel": "nodes ntasks-per-node cpus-per-task signal "
                             "requeue open-mode mpi full",
    "Megatron-LM": "skip-train",
    "ASTRA-sim": "workload-configuration comm-group-configuration",
    "pj_dump": "user-defined",
    "tensorboard": "logdir",
}
BLOCK = re.compile(r"\s*(?:[-*>]|\d+\.)\s")


def source_words():
    """Every word of the sources of the program and its tests."""
    words = set()
    for folder in FOLDERS:
        for top, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".c", ".h", ".cu", ".cuh")):
                    path = os.path.join(top, name)
                    with open(path, encoding="utf-8") as file:
                        words.update(re.findall(r"mtlm_\w+", file.read()))
    return words


def known_options():
    """Every option, without dashes, that a page may name."""
    paths = [*OTHER_FILES]
    for folder in WITH_OPTIONS:
        for top, _, names in os.walk(folder):
            paths += [os.path.join(top, name) for name in names
                      if not name.endswith((".md", ".json", ".svg", ".csv"))]
    known = set(" ".join(FOREIGN.values()).split())
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        known.update(OPTION.findall(text))
        if path.endswith("option_list.h"):
            known.update(re.findall(r'OPT\(\w+,\s*\w+,[\s\\]*"([^"]+)"', text))
    return known


def anchors(page):
    """What GitHub lets a link name in a page: its headings."""
    with open(page, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```$", "", file.read(), flags=re.M | re.S)
    found, same = set(), {}
    for heading in re.findall(r"^#+ +(.+?) *$", text, flags=re.M):
        heading = re.sub(r"\]\([^)]*\)", "", heading).lower()
        name = re.sub(r"[^\w -]", "", heading).replace(" ", "-")
        again = same.get(name, 0)
        same[name] = again + 1
        found.add(f"{name}-{again}" if again else name)
    return found


def prose(text):
    """The paragraphs and list items of a page, each as one line; no code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    blocks, after_blank = [[]], True
    for line in text.split("\n"):
        code = line.startswith("    ") and after_blank
        if not line.strip() or code or line[0] in "|!#":
            blocks.append([])
        elif BLOCK.match(line):
            blocks.append([line])
        else:
            blocks[-1].append(line)
        after_blank = not line.strip() or code
    return [" ".join(" ".join(block).split()) for block in blocks if block]


def long_sentences(text):
    for block in prose(text):
        block = re.sub(r"\]\([^)]*\)", "]", block)
        for sentence in re.split(r"(?<=[.!?])\s+", block):
            words = [w for w in sentence.split() if re.search(r"\w", w)]
            if len(words) > LONGEST:
                yield f"{len(words)} words: {sentence}"


def missing_links(page, text):
    folder = os.path.dirname(page)
    for link in re.findall(r"\]\(([^)]+)\)", text):
        name, _, anchor = "".join(link.split()).partition("#")
        path = os.path.join(folder, name) if name else page
        if "://" in name:
            continue
        if not os.path.exists(path):
            yield f"no such file: {name}"
        elif anchor and path.endswith(".md") and anchor not in anchors(path):
            yield f"no such heading: {name}#{anchor}"


def missing(text, words, options):
    for quoted in re.findall(r"`([^`\n]+)`", text):
        path = quoted.split()[0].rstrip("/")
        if path.split("/")[0] in FOLDERS and "/" in path:
            if not glob.glob(path):
                yield f"no such path: {path}"
        for name in re.findall(r"mtlm_\w+", quoted):
            if name not in words:
                yield f"no such name: {name}"
    for option in OPTION.findall(text):
        if option not in options:
            yield f"no such option: --{option}"


def unlisted(text):
    """Pages of perf/results without a link in the text of its index."""
    links = re.findall(r"\]\(([^)#]+)", text)
    for path in glob.glob("perf/results/**/*.md", recursive=True):
        name = os.path.relpath(path, "perf/results")
        if path != RESULTS and name not in links:
            yield f"does not name {name}"


def main():
    os.chdir(os.environ.get("srcdir", "."))
    words, options, bad = source_words(), known_options(), 0
    pages = ["README.md", "NEWS.md", "CONTRIBUTING.md",
             *sorted(glob.glob("docs/*.md")), RESULTS]
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        faults = [*missing_links(page, text), *missing(text, words, options),
                  *long_sentences(text)]
        if page == RESULTS:
            faults += unlisted(text)
        for fault in faults:
            print(f"{page}: {fault}")
            bad += 1
    print(f"{len(pages)} pages, {bad} faults")
    return bad > 0


sys.exit(main())
