"""Bubble and overlap of a traced run without validation, from schedule.csv."""
import csv


def bubble_and_overlap(path):
    rows = [r for r in csv.DictReader(open(path, newline=""))
            if r["workers"] != "0"]  # but what ran beside them
    workers = {r["rank"]: int(r["workers"]) for r in rows}
    done, changes = {rank: {} for rank in workers}, {r: [] for r in workers}
    for r in sorted(rows, key=lambda r: float(r["end_us"])):
        start, end = float(r["start_us"]), float(r["end_us"])
        if r["op"] == "RECV":  # under way since its send was issued
            start += float(r["wait_us"])
        if r["phase"] == "OPT":  # the last of its iteration stays
            done[r["rank"]][r["iteration"]] = end
        message = r["lane"] != "compute"
        changes[r["rank"]] += [(start, message, 1), (end, message, -1)]
    room = busy = sent = both = 0
    for rank, ends in done.items():
        first, last = min(ends.values()), max(ends.values())
        room += workers[rank] * (last - first)
        running, before = [0, 0], first  # nodes, messages
        for time, message, change in sorted(changes[rank]):
            took = min(max(time, first), last) - before
            before += took
            busy += took * running[False]
            sent += took * (running[True] > 0)
            both += took * (min(running) > 0)
            running[message] += change
    return 1 - busy / room, both / sent
