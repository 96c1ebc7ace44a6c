"""What `mtlm-dag --help --task NAME` teaches: a command with the published
settings, and the papers' numbers."""

import re
import shlex
import subprocess

from bench.ours import Failure

NUMBER = r"\d+\.\d+"
# "SQuAD 1.1:" or "336M 83.0 (86.9 / 81.5)".
PUBLISHED = re.compile(r"(\w+ [\d.]+): |(\d[\d.]*[MB]) (\d[\d. /()]*)")


def command(text):
    """{option: [value]} of the first command, in its order."""
    options = {}
    for line in text.replace("\\\n", " ").split("\n"):
        words = shlex.split(line, comments=True)
        names = [word.split("/")[-1] for word in words]
        if "mtlm-dag" not in names:
            continue
        for word in words[names.index("mtlm-dag") + 1:]:
            if word.startswith("--"):
                options[word] = []
            else:
                options[next(reversed(options))].append(word)
        break
    return options


def published(text):
    """{section, or "" if there is none: {size of the model: [number]}}"""
    section, found = "", {}
    for begin, size, numbers in PUBLISHED.findall(text):
        section = begin or section
        if size:
            sizes = found.setdefault(section, {})
            sizes[size] = re.findall(NUMBER, numbers)
    return found


class Recipe:
    """options: of the first command; source: the paper; published."""

    def __init__(self, text):
        commands = text.split("\nCommands:\n")[1]
        commands, numbers = commands.split("\nPublished:\n")
        title, values = numbers.split(":\n", 1)
        self.options, self.published = command(commands), published(values)
        self.source = title[title.index("arXiv"):]


def read(program, task):
    """The recipe of a task of mtlm-dag."""
    done = subprocess.run([program, "--help", "--task", task], text=True,
                          capture_output=True, check=False)
    try:
        return Recipe(done.stdout)
    except (IndexError, ValueError) as error:
        raise Failure(
            f"{program} --help --task {task} has no recipe") from error
