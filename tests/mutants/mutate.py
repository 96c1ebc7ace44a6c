"""Mutants of C sources: picks them at random, finds them again in a later tree.

A mutant replaces one token of one line.  The record holds the file's base name,
the function, the tokens of the line and the place of the token among them.
Comments, line breaks and folders may change; a map of renames covers names."""
import os
import random
import re
from collections import namedtuple

FOLDERS = "graph", "codelets", "models", "runtime"
PRODUCT = FOLDERS + ("launch",)
# Sources that a build without CUDA leaves out or never calls.
DEVICE = re.compile(r"cuda|cudnn|nccl|gpu|^attention_graph\.c$")
DEVICE_CONDITION = re.compile(r"CUDA|NCCL|CUDNN")
TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*)"
    r'|(?P<string>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')'
    r"|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]="
    r"|[^\s\w])", re.S)
SWAPS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="],
         ">=": [">", "<"], "==": ["!="], "!=": ["=="], "+": ["-"], "-": ["+"],
         "*": ["/"], "/": ["*"], "&&": ["||"], "||": ["&&"], "!": [""],
         "++": ["--"], "--": ["++"], "+=": ["-="], "-=": ["+="]}
BOUNDS = {"0": "1", "1": "0"}  # in the head of a loop
# Lines that only report: a mutant there changes a message.
REPORTS = re.compile(r'\bassert\b|_assert\b|\berror_set\b|mtlm_error_set'
                     r'|mtlm_note\b|"[^"]* [^"]*"')

Token = namedtuple("Token", "text kind begin line")


def blank_directives(text):
    """Overwrites preprocessor lines, and what is compiled only for a device,
    with spaces.  Offsets stay."""
    out, device, continued = [], [], False
    for line in text.splitlines(keepends=True):
        directive = continued or re.match(r"\s*#", line)
        condition = not continued and re.match(r"\s*#\s*(if|el|endif)\w*(.*)", line)
        if condition:
            kind = condition[1]
            if kind != "if":
                device.pop()
            if kind != "endif":
                device.append(kind == "if" and "!" not in condition[2]
                              and bool(DEVICE_CONDITION.search(condition[2])))
        continued = bool(directive) and line.rstrip("\n").endswith("\\")
        if directive or any(device):
            line = re.sub(r"[^\n]", " ", line)
        out.append(line)
    return "".join(out)


def tokens(text):
    """The tokens of a source, without comments and preprocessor lines."""
    text = blank_directives(text)
    found, line, at = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if match.lastgroup != "comment":
            found.append(Token(match[0], match.lastgroup, at, line))
    return found


def functions(text, found):
    """For each token the function around it, "" outside."""
    starts = {0} | {i + 1 for i, c in enumerate(text) if c == "\n"}
    names, name, depth = [], "", 0
    for i, token in enumerate(found):
        if not depth and token.begin in starts and token.kind == "name":
            name = next((found[j - 1].text for j in range(i + 1, len(found))
                         if found[j].text == "("), "")
        names.append(name if depth else "")
        depth += {"{": 1, "}": -1}.get(token.text, 0)
    return names


def binary(text, token):
    """clang-format puts spaces around a binary operator, none after a unary
    one."""
    after = text[token.begin + len(token.text)]
    return text[token.begin - 1].isspace() and after.isspace()


def swaps(text, token, loop):
    """What may replace the token."""
    if token.text in ("+", "-", "*", "/") and not binary(text, token):
        return []
    if token.kind == "operator":
        return SWAPS.get(token.text, [])
    return [BOUNDS[token.text]] if loop and token.text in BOUNDS else []


def candidates(text):
    """[[(function, words of the line, place, token, to)]] of each line that has
    an operator to change."""
    found = tokens(text)
    around, rows = functions(text, found), {}
    for i, token in enumerate(found):
        rows.setdefault(token.line, []).append(i)
    lines, result = text.splitlines(), []
    for number, row in rows.items():
        name = around[row[-1]] or around[row[0]]
        if not name or REPORTS.search(lines[number - 1]):
            continue
        words = " ".join(found[i].text for i in row)
        loop = found[row[0]].text == "for"
        changes = [(name, words, place, found[i], to)
                   for place, i in enumerate(row)
                   for to in swaps(text, found[i], loop)]
        if changes:
            result.append(changes)
    return result


def sources(tree, folders=FOLDERS, ends=".c"):
    """Sorted paths of the sources, relative to the tree."""
    found = []
    for folder in folders:
        for place, _, names in os.walk(os.path.join(tree, folder)):
            found += [os.path.relpath(os.path.join(place, name), tree)
                      for name in names
                      if name.endswith(ends) and not DEVICE.search(name)]
    return sorted(found)


def read(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read()


def pick(tree, seed, count):
    """That many mutants of different lines.  nth: which of the same words of
    the function."""
    lines = [(path, changes) for path in sources(tree)
             for changes in candidates(read(tree, path))]
    draw, chosen = random.Random(seed), []
    for path, changes in draw.sample(lines, min(count, len(lines))):
        name, words, place, token, to = draw.choice(changes)
        mutant = {"number": len(chosen) + 1, "file": path, "line": token.line,
                  "function": name, "text": words, "token": place,
                  "from": token.text, "to": to}
        same = [at for around, at in matches(read(tree, path), mutant)
                if around == name]
        chosen.append(dict(mutant, nth=same.index(token.begin)))
    return chosen


def renamed(mutant, renames):
    """The mutant in the words of the later tree."""
    def new(word):
        return renames.get(word, word)
    stem, end = os.path.splitext(os.path.basename(mutant["file"]))
    return dict(mutant, file=new(stem) + end, function=new(mutant["function"]),
                text=" ".join(map(new, mutant["text"].split(" "))))


def matches(text, mutant):
    """[(function, offset of the token)] of the places with these words."""
    found = tokens(text)
    words = [token.text for token in found]
    want = mutant["text"].split()
    if want[0] not in words:
        return []
    around = functions(text, found)
    return [(around[i + len(want) - 1] or around[i],
             found[i + mutant["token"]].begin)
            for i in range(len(words) - len(want) + 1)
            if words[i] == want[0] and words[i:i + len(want)] == want]


def locate(tree, mutant, renames=None):
    """(path, text with the change), or None where the code is gone.  Looks into
    files of that base name first, then everywhere."""
    was, mutant = mutant["file"], renamed(mutant, renames or {})
    paths = sources(tree, PRODUCT, (".c", ".h"))
    paths.sort(key=lambda path: (path != was,
                                 os.path.basename(path) != mutant["file"]))
    for path in paths:
        text = read(tree, path)
        all_places = matches(text, mutant)
        places = [at for name, at in all_places if name == mutant["function"]]
        if len(places) > mutant["nth"]:
            at = places[mutant["nth"]]
        elif (len(all_places) == 1
              and os.path.basename(path) == mutant["file"]):
            at = all_places[0][1]
        else:
            continue
        end = at + len(mutant["from"])
        return path, text[:at] + mutant["to"] + text[end:]
    return None
