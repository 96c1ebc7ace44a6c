#!/usr/bin/python3
"""trace_paje.py DIR: do pj_dump and recutils read paje.trace, tasks.rec and
data.rec of DIR, and do they say what schedule.csv does, in the columns and
words that StarVZ 0.8.4 needs?"""

import collections
import csv
import re
import subprocess
import sys

from checks import expect, finish

SLACK_MS = 2e-6  # times are rounded: schedule.csv's to a nanosecond
# What pj_dump gives of a task; StarVZ's header of worker states.
PAJE = ("Nature ResourceId Type Start End Duration Depth Value Size Params "
        "Footprint Tag JobId SubmitOrder GFlop X Y Iteration Subiteration "
        "NumaNodes").split()
TASKS = ("Name Model JobId SubmitOrder Priority Tag WorkerId MemoryNode "
         "SubmitTime StartTime EndTime Footprint GFlop Iteration Handles "
         "Modes Sizes MPIRank DependsOn Parameters").split()
DATA = ("Handle HomeNode MPIRank Name Size Description MPIOwner MPITag "
        "Coordinates").split()
# What StarVZ takes for the runtime's own states.
RUNTIME = {"Callback", "FetchingInput", "Idle", "Initializing", "Overhead",
           "PushingOutput", "Scheduling", "Submitting task", "Submiting task",
           "Progressing", "Sleeping", "Waiting all tasks", "Building task",
           "Deinitializing", "Executing", "HandleRequests",
           "execute_on_all_wrapper"}
LINE = 500  # characters that StarVZ has room for


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    expect(done.returncode == 0 and not done.stderr,
           command[0], "ends with", done.returncode, done.stderr)
    return done.stdout.splitlines()


def nodes_of(directory):
    with open(directory + "/schedule.csv", newline="") as file:
        return {r["rank"] + "_" + r["job"]: r for r in csv.DictReader(file)}


def check_file(directory):
    """In order of time, as it is and as StarVZ sorts it; one separator."""
    with open(directory + "/paje.trace") as file:
        lines = file.read().splitlines()
    timed = [line for line in lines
             if line[0] != "%" and int(line.split("\t")[0]) > 7]
    for line in timed:
        expect(re.match(r"\d+\t\d+\.\d{6}\t\S", line), "line", line)
        expect(" " not in re.sub('"[^"]*"', "", line), "a blank:", line)
    done = subprocess.run(["sort", "-s", "-V", "--key=2,2"], text=True,
                          input="\n".join(timed) + "\n", check=True,
                          stdout=subprocess.PIPE)
    expect(done.stdout.splitlines() == timed, "not in StarVZ's order of time")
    expect('""' not in "\n".join(timed), "an empty text")


def states_of(lines):
    """Fields of the states, by resource, in order."""
    states = collections.defaultdict(list)
    for line in lines:
        expect(len(line) < LINE, "too long a line:", line)
        field = line.split(", ")
        if field[0] == "State":
            states[field[1]].append(field)
    return states


def check_tiles(states, end):
    """States of a resource fill its time."""
    for resource, of in states.items():
        at = 0
        of.sort(key=lambda s: (float(s[3]), float(s[4])))
        for s in of:
            expect(abs(float(s[3]) - at) < SLACK_MS, resource, "gap:", s)
            at = float(s[4])
        expect(abs(at - end) < SLACK_MS, resource, "ends at", at)


def check_task(field, r, job):
    t = dict(zip(PAJE, field))
    expect(len(field) == len(PAJE), "fields:", field)
    expect(t["ResourceId"] == r["rank"] + "_" + r["device"].replace(" ", ""),
           field, r)
    expect(t["JobId"] == job and t["Value"] == r["name"], field, r)
    expect(abs(float(t["Duration"]) * 1e3 - float(r["end_us"])
               + float(r["start_us"])) < 2e3 * SLACK_MS, field, r)
    expect(int(t["SubmitOrder"]) == int(r["job"]), field, r)
    expect(re.fullmatch("[0-9a-f]+", t["Footprint"])
           and re.fullmatch("[0-9a-f]+", t["Tag"]), field)
    expect(abs(float(t["GFlop"]) - float(r["flops"]) / 1e9) < 1e-6, field, r)
    expect((t["X"], t["Y"]) == (r["layer"], r["microbatch"]), field, r)
    expect((t["Iteration"], t["Subiteration"])
           == (r["iteration"], r["microbatch"]), field, r)
    expect("," not in t["Params"] and t["Params"], field)
    expect(t["Value"] not in RUNTIME, field)


def check_paje(directory, nodes):
    lines = output("pj_dump", "-n", "--user-defined",
                   directory + "/paje.trace")
    states = states_of(lines)
    check_tiles(states, max(float(f[4]) for of in states.values()
                            for f in of))
    tasks, messages, start = {}, collections.Counter(), {}
    for resource, of in states.items():
        for s in of:
            worker = re.fullmatch(r"\d+_(CPU|CUDA)\d+", resource)
            expect(s[2] == ("Worker State" if worker
                            else "Communication Thread State"), s)
            if s[7] == "Idle":
                continue
            if s[2] == "Worker State":
                tasks[s[12]] = s
                start[s[12]] = float(s[3])
            else:
                # StarVZ looks for the rank, then for this word.
                expect(re.fullmatch(r"\d+_[TPD]+\d*mpict", resource), s)
                messages[resource.split("_")[0], s[7]] += 1
    want = {j: r for j, r in nodes.items() if r["worker"] != "-1"}
    expect(len(tasks) == len(want), len(tasks), "states of", len(want))
    for job, r in want.items():
        expect(job in tasks, "no state:", r)
        if job in tasks:
            check_task(tasks[job], r, job)
    expect(messages == collections.Counter(
        (r["rank"], r["name"]) for r in nodes.values()
        if r["worker"] == "-1"), "messages:", messages)
    check_messages(lines, nodes)
    check_counts(lines)
    return start, {job: int(s[8]) for job, s in tasks.items()}


def check_messages(lines, nodes):
    """Of each message one event on its lane, with what schedule.csv says."""
    want = {job: r for job, r in nodes.items() if r["lane"] != "compute"}
    seen = [line.split(", ") for line in lines if line.startswith("Event, ")]
    expect(sorted(e[5] for e in seen) == sorted(want), "other messages")
    for e in seen:
        expect(len(e) == 10 and e[2] == "Message", e)
        r = want[e[5]]
        expect(re.fullmatch(f"{r['rank']}_{r['lane']}[0-9]*mpict", e[1]), e, r)
        expect(e[4] == r["name"] and e[6] == r["peer"] and e[7] == r["bytes"],
               e, r)
        for ms, us in (e[8], r["wait_us"]), (e[9], r["transfer_us"]):
            expect(abs(float(ms) * 1e3 - float(us)) < 2e3 * SLACK_MS, e, r)


def check_counts(lines):
    """Both numbers of a scheduler come back to 0 and are never less."""
    last = {}
    for line in lines:
        field = line.split(", ")
        if field[0] == "Variable" and field[2].startswith("Number of"):
            value = float(field[6])
            expect(value >= 0, line)
            last[field[1], field[2]] = value
    expect(last and not any(last.values()), "at the end:", last)


def records(directory, name, *options):
    rows = list(csv.DictReader(output("rec2csv", *options,
                                      directory + "/" + name)))
    expect(rows, name, "is empty")
    return rows


def check_tasks(directory, nodes, start, size):
    """tasks.rec: the same nodes on the same clock as paje.trace; lists of
    equal length.  Returns uses of each data in order of submission."""
    rows = records(directory, "tasks.rec")
    expect(set(TASKS) <= set(rows[0]), "tasks.rec has", list(rows[0]))
    expect(sorted(r["JobId"] for r in rows) == sorted(nodes), "other nodes")
    uses = collections.defaultdict(list)
    for t in sorted(rows, key=lambda t: int(t["SubmitOrder"])):
        n = nodes[t["JobId"]]
        lists = [t[k].split() for k in ("Handles", "Modes", "Sizes")]
        expect(len({len(x) for x in lists}) == 1 and lists[0], t)
        expect(t["Name"] == t["Model"] == n["name"]
               and t["MPIRank"] == n["rank"] and t["WorkerId"] == n["worker"]
               and t["Iteration"] == n["iteration"]
               and t["Priority"] == n["priority"], t, n)
        took = float(t["EndTime"]) - float(t["StartTime"])
        expect(abs(took * 1e3 - float(n["end_us"]) + float(n["start_us"]))
               < 2e3 * SLACK_MS, t, n)
        waited = float(t["StartTime"]) - float(t["SubmitTime"])
        expect(abs(waited * 1e3 - float(n["start_us"])
                   + float(n["submit_us"])) < 2e3 * SLACK_MS, t, n)
        if t["JobId"] in start:
            expect(abs(start[t["JobId"]] - float(t["StartTime"])) < SLACK_MS,
                   "two clocks:", t)
            expect(sum(map(int, lists[2])) == size[t["JobId"]], t)
        for handle, mode, bytes_ in zip(*lists):
            expect(mode in ("R", "W", "RW"), t)
            expect(handle.split("_")[0] == n["rank"], t)
            uses[handle].append((mode, t, bytes_))
    return uses


def check_uses(uses):
    """Of two uses of the same data, not both to read it, the second began
    after the first had ended."""
    for handle, of in uses.items():
        written, read = 0.0, 0.0  # until when
        for mode, t, _ in of:
            begin, end = float(t["StartTime"]), float(t["EndTime"])
            expect(begin >= written - SLACK_MS, handle, "not yet written:", t)
            if mode == "R":
                read = max(read, end)
            else:
                expect(begin >= read - SLACK_MS, handle, "still read:", t)
                written = end


def check_data(directory, uses):
    rows = records(directory, "data.rec", "-S", "Handle")
    expect(set(DATA) <= set(rows[0]), "data.rec has", list(rows[0]))
    data = {d["Handle"]: d for d in rows}
    expect(len(data) == len(rows), "a handle twice")
    for handle, of in uses.items():
        expect(handle in data, handle, "is not in data.rec")
        for _, t, bytes_ in of:
            expect(data[handle]["Size"] == bytes_, data[handle], t)
    for d in rows:
        layer, slot = map(int, d["Coordinates"].split())
        expect(d["MPIRank"] == d["MPIOwner"] == d["Handle"].split("_")[0], d)
        name = re.match(r"layers\.(\d+)\.", d["Name"])
        expect(slot >= 0 and (not name or int(name[1]) == layer), d)


def check_colors(directory, nodes):
    with open(directory + "/starvz.yaml") as file:
        text = file.read().split("\napp_tasks:\n")[1]
    form = r'  (\w+): \{color: "#[0-9A-F]{6}", use: TRUE\}'
    names = [re.fullmatch(form, line) for line in text.splitlines()]
    expect(all(names), text)
    expect({n[1] for n in names if n} == {
        r["name"] for r in nodes.values() if r["worker"] != "-1"},
        "operations of starvz.yaml")


nodes = nodes_of(sys.argv[1])
check_file(sys.argv[1])
start, size = check_paje(sys.argv[1], nodes)
uses = check_tasks(sys.argv[1], nodes, start, size)
check_uses(uses)
check_data(sys.argv[1], uses)
check_colors(sys.argv[1], nodes)
finish(len(nodes), "nodes,", len(uses), "data,")
