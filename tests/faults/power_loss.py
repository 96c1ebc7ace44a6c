"""What a disk may hold when the power fails while a job saves checkpoints, from
the log of all its calls (inject.c): a file's data and its name last once the
file is synchronised, other changes of names once their directory is; until then
each may be lost, a write also by half, whatever came after it.  Of the last
PENDING changes that may be lost all combinations are tried, or some of them."""
import itertools
import math
import os
import random
import re
import shutil
import subprocess

from calls import LOOKS

PENDING = 8


class Disk:
    """Files and directories as they were, and all changes since.  A node is
    bytes or a dict of names."""

    def __init__(self, root):
        self.root, self.nodes = root, []
        self.read(root)
        self.live = [dict(node) if isinstance(node, dict) else node
                     for node in self.nodes]
        self.changes = []  # [what, arguments, lasts]

    def read(self, path):
        number = len(self.nodes)
        self.nodes.append({} if os.path.isdir(path) else b"")
        if os.path.isdir(path):
            for name in os.listdir(path):
                self.nodes[number][name] = self.read(os.path.join(path, name))
        else:
            with open(path, "rb") as file:
                self.nodes[number] = file.read()
        return number

    def place(self, path):
        """The directory and the name in it."""
        parts = os.path.relpath(path, self.root).split("/")
        number = 0
        for part in parts[:-1]:
            number = self.live[number][part]
        return number, parts[-1]

    def number(self, path):
        if path == self.root:
            return 0
        parent, name = self.place(path)
        return self.live[parent].get(name)

    def change(self, what, *arguments):
        self.changes.append([what, arguments, False])
        apply(self.live, what, arguments)

    def make(self, path, node):
        number = len(self.nodes)
        self.nodes.append(node)
        self.live.append(dict() if node == {} else node)
        self.change("name", *self.place(path), number)

    def call(self, call, path, other, data):
        known = self.number(path) if call != "said" else None
        if call == "open" and other == "new" and known is None:
            self.make(path, b"")
        elif call == "mkdir" and known is None:
            self.make(path, {})
        elif call == "bytes":
            self.change("write", known, data)
        elif call == "unlinkat":
            self.call("unlink", os.path.join(path, other), "", b"")
        elif call in ("unlink", "rmdir") and known is not None:
            if self.live[known] == {} or call == "unlink":
                self.change("gone", *self.place(path))
        elif call == "rename" and known is not None:
            self.change("rename", *self.place(path), *self.place(other))
        elif call == "synced":
            self.sync(known)

    def sync(self, number):
        for change in self.changes:
            what, arguments, _ = change
            if what == "write":
                change[2] |= arguments[0] == number
            elif what == "name":
                change[2] |= number in (arguments[0], arguments[2])
            else:
                change[2] |= number in arguments[::2]


def apply(nodes, what, arguments, part=1.0):
    if what == "write":
        number, data = arguments
        nodes[number] += data[:int(len(data) * part)]
    elif what == "name":
        parent, name, number = arguments
        nodes[parent][name] = number
    elif what == "gone":
        parent, name = arguments
        nodes[parent].pop(name, None)
    elif arguments[1] in nodes[arguments[0]]:
        nodes[arguments[2]][arguments[3]] = nodes[arguments[0]].pop(
            arguments[1])


def states(disk, rng, most):
    """What may be there now: [nodes]."""
    open_ones = [i for i, change in enumerate(disk.changes)
                 if not change[2]][-PENDING:]
    choices = [(1.0, 0.5, None) if disk.changes[i][0] == "write"
               else (1.0, None) for i in open_ones]
    if math.prod(map(len, choices)) <= most:
        combinations = itertools.product(*choices)
    else:
        combinations = ([rng.choice(choice) for choice in choices]
                        for _ in range(most))
    for combination in combinations:
        parts = dict(zip(open_ones, combination))
        nodes = [dict(node) if isinstance(node, dict) else node
                 for node in disk.nodes]
        for i, (what, arguments, _) in enumerate(disk.changes):
            part = parts.get(i, 1.0)
            if part is not None:
                apply(nodes, what, arguments, part)
        yield nodes


def tree(nodes, number=0):
    """What identifies a state."""
    node = nodes[number]
    if isinstance(node, dict):
        return tuple(sorted((name, tree(nodes, child))
                            for name, child in node.items()))
    return node


def write(nodes, path, number=0):
    node = nodes[number]
    if isinstance(node, dict):
        os.mkdir(path)
        for name, child in node.items():
            write(nodes, os.path.join(path, name), child)
    else:
        with open(path, "wb") as file:
            file.write(node)


def read_log(log):
    """[(call, path, other, data)] of all ranks."""
    data = {}
    with open(log, encoding="utf-8") as file:
        for line in file:
            rank, _, call, path, other = line.rstrip("\n").split("\t")
            written = b""
            if call == "bytes":
                if rank not in data:
                    data[rank] = open(f"{log}.{rank}", "rb")
                written = data[rank].read(int(other))
            yield call, path, other, written
    for file in data.values():
        file.close()


def run(log, start, save, newest, committed, work, most, forget=None):
    """(states, those that lost a committed checkpoint): of a job that saved
    into the directory `save`, which was a copy of `start`.  forget(path): that
    this was synchronised does not count."""
    disk, rng, seen = Disk(start), random.Random(1), {}
    disk.root = save
    place, lost, before = os.path.join(work, "state"), [], None
    with subprocess.Popen([newest], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE) as loader:
        for step, (call, path, other, data) in enumerate(read_log(log)):
            if call == "synced" and forget and forget(path):
                continue
            if call == "said":
                said = re.search(r"iteration (\d+) saved", path)
                committed = max(committed, int(said.group(1)) if said else 0)
            elif call in LOOKS:
                continue
            elif path.startswith(save) and not path.endswith("/.."):
                disk.call(call, path, other, data)
            now = committed, [change[2] for change in disk.changes]
            if now == before:
                continue
            before = now
            for nodes in states(disk, rng, most):
                key = hash(tree(nodes))
                if key not in seen:
                    write(nodes, place)
                    print(place, file=loader.stdin, flush=True)
                    seen[key] = int(loader.stdout.readline())
                    shutil.rmtree(place)
                if seen[key] < committed:
                    lost.append((step, call, path, committed, seen[key]))
    return len(seen), lost
