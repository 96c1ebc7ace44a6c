#!/usr/bin/python3
"""Are the pages true to the tree, and short?

Reads README.md, NEWS.md, CONTRIBUTING.md, docs/*.md and the index of
perf/results.  Every link and every path in backticks exists; every mtlm_ name
stands in a source.  No sentence has more than 25 words; tables, headings and
code do not count.  The index has every page of perf/results.
"""

import glob
import os
import re
import sys

LONGEST = 25
RESULTS = "perf/results/README.md"
FOLDERS = ("runtime", "graph", "models", "codelets", "launch", "tests",
           "perf", "docs", "man")
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


def missing(page, text, words):
    folder = os.path.dirname(page)
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        link = "".join(link.split())
        if "://" not in link and not os.path.exists(os.path.join(folder, link)):
            yield f"no such file: {link}"
    for quoted in re.findall(r"`([^`\n]+)`", text):
        path = quoted.split()[0].rstrip("/")
        if path.split("/")[0] in FOLDERS and "/" in path:
            if not glob.glob(path):
                yield f"no such path: {path}"
        for name in re.findall(r"mtlm_\w+", quoted):
            if name not in words:
                yield f"no such name: {name}"


def unlisted(text):
    """Pages of perf/results without a link in the text of its index."""
    links = re.findall(r"\]\(([^)#]+)", text)
    for path in glob.glob("perf/results/**/*.md", recursive=True):
        name = os.path.relpath(path, "perf/results")
        if path != RESULTS and name not in links:
            yield f"does not name {name}"


def main():
    os.chdir(os.environ.get("srcdir", "."))
    words, bad = source_words(), 0
    pages = ["README.md", "NEWS.md", "CONTRIBUTING.md",
             *sorted(glob.glob("docs/*.md")), RESULTS]
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        faults = [*missing(page, text, words), *long_sentences(text)]
        if page == RESULTS:
            faults += unlisted(text)
        for fault in faults:
            print(f"{page}: {fault}")
            bad += 1
    print(f"{len(pages)} pages, {bad} faults")
    return bad > 0


sys.exit(main())
