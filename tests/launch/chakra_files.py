#!/usr/bin/env python3
"""chakra_files.py PREFIX REC TP DP PP ENDS SECONDS: do PREFIX.*.et hold the graph of REC, the
tasks.rec of the same job, by Google's reader of Protocol Buffers?  The schema is
built from the field numbers that Chakra publishes (et_def.proto).  ENDS: how many
ranks of a pipeline hold the tied embedding, 2 or 1."""
import json
import sys
from collections import defaultdict

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

COMP, SEND, RECV, COLL = 4, 5, 6, 7
MESSAGES = {
    "AttributeProto": [("name", 1, "STRING"), ("int32_val", 7, "INT32"),
                       ("int64_val", 9, "INT64"), ("uint64_val", 13, "UINT64"),
                       ("bool_val", 27, "BOOL"), ("string_val", 29, "STRING")],
    "GlobalMetadata": [("version", 1, "STRING"), ("attr", 2, None)],
    "Node": [("id", 1, "UINT64"), ("name", 2, "STRING"), ("type", 3, "INT32"),
             ("ctrl_deps", 4, "UINT64 list"), ("data_deps", 5, "UINT64 list"),
             ("start_time_micros", 6, "UINT64"),
             ("duration_micros", 7, "UINT64"), ("attr", 10, None)],
}
# Types that Chakra's et_feeder_node.cpp asks for.
TYPES = {"is_cpu_op": "bool_val", "num_ops": "int64_val",
         "tensor_size": "uint64_val", "comm_type": "int64_val",
         "comm_size": "int64_val", "comm_src": "int32_val",
         "comm_dst": "int32_val", "comm_tag": "int32_val",
         "pg_name": "string_val"}


def classes():
    """Returns the class of each message."""
    file = descriptor_pb2.FileDescriptorProto(name="et.proto", package="et",
                                              syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            f = message.field.add(name=field, number=number)
            if kind is None:
                f.type, f.type_name = f.TYPE_MESSAGE, ".et.AttributeProto"
            else:
                f.type = getattr(f, "TYPE_" + kind.split()[0])
            f.label = (f.LABEL_REPEATED if kind is None or "list" in kind
                       else f.LABEL_OPTIONAL)
            if name == "AttributeProto" and number > 1:
                f.oneof_index = 0
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName("et." + name))
            if hasattr(factory, "GetPrototype") else
            message_factory.GetMessageClass(
                pool.FindMessageTypeByName("et." + name))
            for name in MESSAGES}


def parse(kind, data):
    """Returns a message without unknown fields."""
    message = kind()
    message.ParseFromString(data)
    whole = message.SerializeToString()
    message.DiscardUnknownFields()
    assert message.SerializeToString() == whole, "an unknown field"
    return message


def stream(path):
    """Yields the bytes of each message: a varint of the length before each."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            byte, at = data[at], at + 1
            size, shift = size | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        assert at + size <= len(data), f"{path} is cut off"
        yield data[at:at + size]
        at += size


def attributes(message):
    values = {}
    for a in message.attr:
        kind = a.WhichOneof("value")
        assert TYPES.get(a.name, kind) == kind, (a.name, kind)
        assert a.name not in values, a.name
        values[a.name] = getattr(a, kind)
    return values


def read_rank(kinds, prefix, rank):
    """Returns the nodes of a rank: [(node, attributes)]."""
    messages = stream(f"{prefix}.{rank}.et")
    metadata = parse(kinds["GlobalMetadata"], next(messages))
    assert metadata.version == "1.0.0", metadata
    assert attributes(metadata) == {"rank": rank}, metadata
    nodes = [parse(kinds["Node"], data) for data in messages]
    return [(n, attributes(n)) for n in nodes]


def read_rec(path):
    with open(path, encoding="utf-8") as file:
        return {int(task["JobId"]): task for task in (
            dict(line.split(": ", 1) for line in record.split("\n"))
            for record in file.read().strip().split("\n\n"))}


def micros(text):
    """Returns rounded microseconds of a time in milliseconds."""
    return (round(float(text) * 1e6) + 500) // 1000


def check_node(node, values, done, task):
    """The node has the times of the task, and waits for earlier nodes."""
    start = node.start_time_micros
    assert start == micros(task["StartTime"]), (node, task)
    assert start + node.duration_micros == micros(task["EndTime"]), (node, task)
    assert values["is_cpu_op"] is False, node
    for before in node.data_deps:
        assert done[before] <= start, (node, before)
    assert len(set(node.data_deps)) == len(node.data_deps), node
    assert node.id > max(done, default=0), node
    done[node.id] = start + node.duration_micros


def check_order(node, sent):
    """Sends and collectives wait for each other; returns the last of them."""
    if node.type not in (SEND, COLL):
        assert not node.ctrl_deps, node
        return sent
    assert list(node.ctrl_deps) == sent, (node, sent)
    return [node.id]


def check_compute(node, values, task):
    assert node.name == task["Name"], (node, task)
    assert abs(values["num_ops"] / 1e9 - float(task["GFlop"])) <= 1e-6, node
    assert str(values["priority"]) == task["Priority"], node


def expected_groups(tp, dp, pp, ends):
    """Returns the sets of ranks that share collectives; Megatron's ranks."""
    sets, n = set(), tp * dp * pp
    for r in range(n):
        t, d, p = r % tp, r // tp % dp, r // tp // dp
        sets.add(frozenset(s for s in range(n) if s // tp == r // tp))
        sets.add(frozenset(t + tp * (i + dp * p) for i in range(dp)))
        if pp > 1 and ends == 2:
            sets.add(frozenset((t + tp * d, t + tp * (d + dp * (pp - 1)))))
    return {s for s in sets if len(s) > 1} | {frozenset(range(n))}


def check_collectives(met, groups, sizes):
    """met: [group][rank] the collectives of that rank, in their order."""
    groups = {int(g): frozenset(r) for g, r in groups.items()}
    assert min(groups) > 0, groups
    assert set(met) == set(groups), set(met) ^ set(groups)
    assert set(groups.values()) == expected_groups(*sizes), groups
    for group, ranks in met.items():
        assert frozenset(ranks) == groups[group], (group, ranks.keys())
        first, *others = ranks.values()
        assert all(other == first for other in others), group


def check_edges(waits, tasks, each):
    """waits: [id][rank] predecessors; ranks of the first replica alone."""
    for number, task in tasks.items():
        ends = {r: w for r, w in waits[number].items() if r % each == 0}
        before = set().union(*ends.values())
        assert before == set(map(int, task.get("DependsOn", "").split())), task


def main():
    prefix, rec = sys.argv[1:3]
    tp, dp, pp, _ = sizes = tuple(map(int, sys.argv[3:7]))
    kinds, tasks = classes(), read_rec(rec)
    ends = {SEND: {}, RECV: {}}
    met = defaultdict(lambda: defaultdict(list))
    waits = defaultdict(dict)
    last, types = 0, set()
    for rank in range(tp * dp * pp):
        done, sent = {}, []
        for node, values in read_rank(kinds, prefix, rank):
            task = tasks[node.id]
            check_node(node, values, done, task)
            sent = check_order(node, sent)
            waits[node.id][rank] = set(node.data_deps)
            if node.type == COMP:
                check_compute(node, values, task)
                assert task["MPIRank"] == str(rank // tp // dp), (rank, task)
            elif node.type == COLL:
                types.add(values["comm_type"])
                assert values["comm_size"] > 0, node
                met[int(values["pg_name"])][rank].append(
                    (node.id, values["comm_type"], values["comm_size"]))
            else:
                key = tuple(values["comm_" + k] for k in ("src", "dst", "tag"))
                assert key[0 if node.type == SEND else 1] == rank, node
                assert key not in ends[node.type], node
                ends[node.type][key] = (node.id, values["comm_size"])
        last = max(last, *done.values())
    assert set(waits) == set(tasks), "a task is missing"
    assert ends[SEND] == ends[RECV], "a message lacks an end"
    assert ends[SEND] or pp == 1, "no messages"
    check_edges(waits, tasks, tp * dp)
    with open(f"{prefix}.groups.json", encoding="utf-8") as file:
        check_collectives(met, json.load(file), sizes)
    assert abs(last - 1e6 * float(sys.argv[7])) <= 1, last
    print("types of collectives:", *sorted(types))


main()
