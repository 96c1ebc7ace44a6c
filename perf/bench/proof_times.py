"""The times of a proof of --bound-out beside those of --stage-times."""

import configparser


def _passes(ini):
    """{stage: [ns of F, B and W]}"""
    found = {}
    for name in ini.sections():
        first, _, last = name.partition("stage ")[2].partition("-")
        for k in range(int(first), int(last or first) + 1) if first else ():
            found[k] = [round(1e6 * ini.getfloat(name, f"{phase}_ms"))
                        for phase in ("forward", "backward", "weight")]
    return found


def difference(proof, path):
    """What the file and the proof do not agree on; None: nothing."""
    ini = configparser.ConfigParser()
    try:
        with open(path, encoding="utf-8") as file:
            ini.read_file(file)
        passes, hop = _passes(ini), ini.getfloat("hop", "latency_us", fallback=0)
    except (OSError, ValueError, configparser.Error) as why:
        return f"{path}: {why}"
    if passes != {k: row[1:4] for k, row in enumerate(proof["stages"])}:
        return f"stages have other times than in {path}"
    if proof["hop_ns"] != round(1e3 * hop):
        return f"a message takes another time than in {path}"
    return None
