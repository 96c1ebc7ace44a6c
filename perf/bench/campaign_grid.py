"""The grid of a campaign: a file of axes, and the cells that they make."""

import collections
import configparser
import hashlib
import itertools
import os
import re

from bench import published
from bench.ours import Failure

HOWS = "evaluate", "simulate", "run"
MODES = "strict", "hint", "windows", "emergent"
EVALUATED = "prio", "mtlm"  # policies that the evaluator knows
WITHOUT_ORDER = "window", "auto"
# mtlm-dag says what it thinks of others.
SCHEDULES = (*(s.name for s in published.SCHEDULES), *WITHOUT_ORDER)
# Axes, and the values of those that a grid may leave out.
AXES = {
    "schedule": None, "mode": None, "policy": "prio", "p": None, "v": "own",
    "m": None, "times": None, "jitter": "0", "memory": "own", "seed": "1",
}
KEYS = {
    "title": "A campaign", "about": "", "how": "evaluate", "layers": "8",
    "options": "", "stretch": "1", "iterations": "5", "limit": "600",
}
# What sets these options of mtlm-dag.  Among the words of `options` they would
# take the place of an axis, whose value the cell still has, or count for nothing.
SET = {
    "--schedule": "axis schedule", "--schedule-file": "axis schedule",
    "--schedule-mode": "axis mode", "--pipeline-model-parallel-size": "axis p",
    "--num-virtual-stages-per-pipeline-rank": "axis v",
    "--num-layers-per-virtual-pipeline-stage": "axis v",
    "--global-batch-size": "axis m", "--synthetic": "axis times",
    "--stage-times": "axis times", "--jitter": "axis jitter",
    "--jitter-file": "axis jitter", "--act-mem": "axis memory",
    "--seed": "axis seed", "--stretch": "key stretch",
    "--train-iters": "key iterations",
}
MOST_CELLS = 5_000_000
SECTION = re.compile(r"^\s*\[\s*(\w+)([^\]]*)\]", re.M)

# A combination; p, v, m, seed as text, seed "" of what has no noise.
Cell = collections.namedtuple("Cell", tuple(AXES))
# kind: named (values: seconds of F, B, W, a message), cluster, stages (path).
Times = collections.namedtuple("Times", "kind values path digest")


class Wrong(Failure):
    """The grid is not what a campaign takes; the text says why."""


def is_noisy(jitter):
    """Whether the value of --jitter changes any duration."""
    try:
        return float(jitter) != 0
    except ValueError:
        return True


class Grid:
    """axes: {name: [text]}; times: {name: Times}; the keys of [campaign]."""

    def __init__(self, axes, times, keys):
        self.axes, self.times = axes, times
        self.title, self.about = keys["title"], " ".join(keys["about"].split())
        self.how, self.options = keys["how"], keys["options"].split()
        self.given = _given(self.options)
        self.layers, self.stretch = int(keys["layers"]), keys["stretch"]
        self.iterations, self.limit = int(keys["iterations"]), float(keys["limit"])
        self.cells = self._cells()

    def _cells(self):
        """All combinations, each once."""
        found = {}
        for values in itertools.product(*self.axes.values()):
            cell = Cell(*values)
            if cell.m.endswith("p"):
                cell = cell._replace(m=str(int(cell.m[:-1]) * int(cell.p)))
            if self.how != "run" and not is_noisy(cell.jitter):
                cell = cell._replace(seed="")
            found[cell] = None
        return list(found)

    def identity(self):
        """What makes two grids the same: every key that changes a number."""
        return {
            "axes": self.axes,
            "times": {name: [t.kind, t.values, t.digest]
                      for name, t in self.times.items()},
            "how": self.how, "layers": self.layers,
            "options": list(map(_contents, self.options)),
            "stretch": self.stretch, "iterations": self.iterations,
        }


# ---- files ----


def _data(path, what):
    """The bytes of a file; Wrong."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Wrong(f"{what}: {path}: {error.strerror}") from None


def _contents(word):
    """A word of options.  Where it names a file, or a directory of a trace, the
    digest of the file stands behind it."""
    path = word.partition("=")[2] if word.startswith("--") else word
    for file in path, os.path.join(path, "summary.json"):
        if path and os.path.isfile(file):
            digest = hashlib.sha256(_data(file, "options")).hexdigest()
            return f"{word} {digest}"
    return word


# ---- values ----


def _given(words):
    """{option: its value, or the word behind it} of words of mtlm-dag; Wrong."""
    found = {}
    for word, behind in zip(words, [*words[1:], ""]):
        name, equals, value = word.partition("=")
        # mtlm-dag takes the begin of an option, too.
        whole = next((o for o in SET if len(name) > 2 and o.startswith(name)), None)
        if whole and name != "--num-layers":
            raise Wrong(f"options has '{name}', which the {SET[whole]} sets")
        if name.startswith("--"):
            found[name] = value if equals else behind
    if "--num-layers" in found and "--model" not in found:
        raise Wrong("options has '--num-layers', which the key layers sets")
    return found


def _whole(word, least, most):
    return word.isdecimal() and least <= int(word) <= most


def _seeds(words):
    """1..20 stands for twenty seeds."""
    found = []
    for word in words:
        first, dots, last = word.partition("..")
        last = last if dots else first
        if not (_whole(first, 0, 2**31) and _whole(last, int(first), 2**31)):
            raise Wrong(f"seed '{word}' is no number and no range such as 1..20")
        if int(last) - int(first) >= MOST_CELLS:
            raise Wrong(f"seed '{word}' has more than {MOST_CELLS} values")
        found += map(str, range(int(first), int(last) + 1))
    return found


def _is_microbatches(word):
    number = word[:-1] if word.endswith("p") else word
    return _whole(number, 1, 10**6)


def _is_memory(word):
    number = word[:-1] if word.endswith("p") else word
    return word == "own" or bool(re.fullmatch(r"\d+(\.\d+)?", number)
                                 and float(number) > 0)


CHECKS = {
    "schedule": (str.isprintable, "a schedule of mtlm-dag"),
    "mode": (MODES.__contains__, ", ".join(MODES)),
    "policy": (str.isprintable, "a policy of StarPU"),
    "p": (lambda word: _whole(word, 1, 4096), "ranks"),
    "v": (lambda word: word == "own" or _whole(word, 1, 64),
          "virtual stages of a rank, or own"),
    "m": (_is_microbatches, "microbatches, such as 32 or 4p"),
    "jitter": (str.isprintable, "a value of --jitter"),
    "memory": (_is_memory, "microbatches on a rank, such as 6 or 1p, or own"),
}


def _axis(name, text, how):
    words = _seeds(text.split()) if name == "seed" else text.split()
    if not words:
        raise Wrong(f"axis '{name}' has no value")
    check, what = CHECKS.get(name, (None, None))
    for word in words:
        if check and not check(word):
            raise Wrong(f"{name} is '{word}', it must be {what}")
        if name == "policy" and how == "evaluate" and word not in EVALUATED:
            raise Wrong(f"policy is '{word}', and how = evaluate knows "
                        "prio and mtlm; how = simulate or run takes others")
    if name in ("p", "v", "m"):  # 08 is 8
        words = [str(int(w)) if w.isdecimal() else w for w in words]
    twice = [w for w, n in collections.Counter(words).items() if n > 1]
    if twice:
        raise Wrong(f"{name} has '{twice[0]}' twice")
    return words


# ---- times ----


def _file(path, name):
    """Times of a file of --synthetic or --stage-times."""
    data = _data(path, f"times '{name}'")
    sections = SECTION.findall(data.decode("utf-8", "replace"))
    if not sections:
        raise Wrong(f"times '{name}': {path} has no section")
    staged = any(word == "hop" or rest.strip() for word, rest in sections)
    return Times("stages" if staged else "cluster", None, path,
                 hashlib.sha256(data).hexdigest())


def _times(name, text, folder):
    """text: four numbers, or a file beside the grid."""
    words = text.split()
    try:
        values = [float(word) for word in words]
    except ValueError:
        return _file(os.path.join(folder, text.strip()), name)
    if len(values) != 4 or not all(0 <= x < 1e4 for x in values) \
            or min(values[:3]) <= 0:
        raise Wrong(f"times '{name}' are '{text}', they must be seconds of F, B, "
                    "W and a message, or a file")
    return Times("named", values, None, None)


def _all_times(words, section, folder, how):
    found = {}
    for word in words:
        if word not in section and "/" not in word and "." not in word:
            raise Wrong(f"times '{word}' have no line in [times] and are no file")
        found[word] = _times(word, section.get(word, word), folder)
        if found[word].kind == "stages" and how != "evaluate":
            raise Wrong(f"times '{word}' are a file of --stage-times, which "
                        f"how = {how} does not take: give a cluster file")
    return found


# ---- the file ----


def _parse(path):
    parser = configparser.ConfigParser(
        interpolation=None, inline_comment_prefixes=(";",),
        default_section="no default section", empty_lines_in_values=False,
    )
    parser.optionxform = str
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}") from None
    except (configparser.Error, UnicodeDecodeError) as error:
        raise Wrong(f"{path}: {' '.join(str(error).split())}") from None
    return parser


def _section(parser, name, known):
    """{key: text}, defaults for what is not given."""
    given = dict(parser[name]) if parser.has_section(name) else {}
    for key in given:
        if key not in known:
            what = "axis" if name == "axes" else "key"
            raise Wrong(f"[{name}] has an unknown {what} '{key}'; it knows "
                        f"{', '.join(known)}")
    return {**known, **given}


def _keys(parser):
    keys = _section(parser, "campaign", KEYS)
    if keys["how"] not in HOWS:
        raise Wrong(f"how is '{keys['how']}', it must be {', '.join(HOWS)}")
    for name, least in (("layers", 1), ("iterations", 2)):
        if not _whole(keys[name], least, 10**6):
            raise Wrong(f"{name} is '{keys[name]}', it must be a number from "
                        f"{least} on")
    for name in ("stretch", "limit"):
        if not re.fullmatch(r"\d+(\.\d+)?", keys[name]) or not float(keys[name]):
            raise Wrong(f"{name} is '{keys[name]}', it must be a number above 0")
    return keys


def read(path):
    """The Grid of a file; Wrong."""
    parser = _parse(path)
    for name in parser.sections():
        if name not in ("campaign", "axes", "times"):
            raise Wrong(f"unknown section [{name}]; a grid has [campaign], [axes] "
                        "and [times]")
    keys, given = _keys(parser), _section(parser, "axes", AXES)
    for name, text in given.items():
        if text is None:
            raise Wrong(f"[axes] lacks {name}")
    axes = {n: _axis(n, text, keys["how"]) for n, text in given.items()}
    size = 1
    for values in axes.values():
        size *= len(values)
    if size > MOST_CELLS:
        raise Wrong(f"the grid has {size} cells, and {MOST_CELLS} are the most")
    section = dict(parser["times"]) if parser.has_section("times") else {}
    times = _all_times(axes["times"], section,
                       os.path.dirname(os.path.abspath(path)), keys["how"])
    return Grid(axes, times, keys)
