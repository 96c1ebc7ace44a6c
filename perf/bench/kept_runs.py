"""Runs that are kept: PATH.options holds the words of a run that is whole, and
what the run wrote lies beside it."""

import os


def is_whole(path, words):
    """Whether a run with these words has ended."""
    if not os.path.exists(path + ".options"):
        return False
    with open(path + ".options", encoding="utf-8") as file:
        return file.read() == "\n".join(words)


def begin(path):
    """Forgets the run before, whatever its words were."""
    for end in ".options", ".metrics":
        if os.path.exists(path + end):
            os.remove(path + end)


def end(path, words):
    with open(path + ".options", "w", encoding="utf-8") as file:
        file.write("\n".join(words))
