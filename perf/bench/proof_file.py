"""The file of --bound-out: its numbers, and the times that they stand for."""

import configparser
import json

KEYS = {
    "mtlm_dag_bound", "makespan_ns", "microbatches", "hop_ns", "fused", "memory",
    "stages", "rank", "points", "multipliers", "sum",
}


class Refused(Exception):
    """The file proves nothing."""


def demand(holds, why):
    if not holds:
        raise Refused(why)


def numbers(value):
    """All numbers of a JSON value, each a whole one that is not negative."""
    if isinstance(value, (list, dict)):
        inner = value.values() if isinstance(value, dict) else value
        return [n for one in inner for n in numbers(one)]
    demand(type(value) is int and value >= 0, f"{value!r} is no whole number")
    return [value]


def read(path):
    """The proof as a dictionary of whole numbers and lists."""

    def unique(pairs):
        demand(len(dict(pairs)) == len(pairs), "a key stands twice")
        return dict(pairs)

    try:
        with open(path, encoding="utf-8") as file:
            proof = json.load(file, object_pairs_hook=unique)
    except (OSError, ValueError, RecursionError) as why:
        raise Refused(why) from why
    demand(isinstance(proof, dict) and set(proof) == KEYS, "other keys")
    demand(sum(numbers(proof)) == 2 * proof["sum"], "the sum of numbers differs")
    lists = proof["stages"], proof["multipliers"]
    demand(all(isinstance(x, list) for x in lists), "no lists")
    for rows, n in zip(lists, (6, 2)):
        demand(all(isinstance(x, list) and len(x) == n for x in rows), "a row")
    for key in KEYS - {"stages", "multipliers"}:
        demand(isinstance(proof[key], int), f"{key} is no number")
    demand(proof["mtlm_dag_bound"] == 1, "another kind of file")
    for key in "makespan_ns", "microbatches", "memory", "points":
        demand(proof[key] > 0, f"{key} is 0")
    demand(proof["fused"] in (0, 1), "fused is neither 0 nor 1")
    return proof


def compare(proof, path):
    """Raises Refused unless the stages have the times of --stage-times."""
    ini = configparser.ConfigParser()
    try:
        with open(path, encoding="utf-8") as file:
            ini.read_file(file)
        hop = ini.getfloat("hop", "latency_us", fallback=0)
        demand(proof["hop_ns"] == round(1e3 * hop), f"hop differs from {path}")
        for name in ini.sections():
            first, _, last = name.partition("stage ")[2].partition("-")
            for k in range(int(first), int(last or first) + 1) if first else ():
                ns = [round(1e6 * ini.getfloat(name, f"{phase}_ms"))
                      for phase in ("forward", "backward", "weight")]
                demand(proof["stages"][k][1:4] == ns, f"stage {k} differs from {path}")
    except (OSError, ValueError, IndexError, configparser.Error) as why:
        raise Refused(f"{path}: {why}") from why
