/* Chakra execution traces: the nodes of one rank as a stream of messages, and
 * the groups of the job as JSON.  Names, numbers and types are those that
 * Chakra's reader asks for.  Source: github.com/mlcommons/chakra,
 * schema/protobuf/et_def.proto and src/feeder/et_feeder_node.cpp. */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>

#include "codelets/op.h"
#include "launch/trace/export/writer.h"
#include "launch/trace/node.h"
#include "runtime/file/wire.h"

/* Numbers of fields. */
enum { METADATA_VERSION = 1, METADATA_ATTRIBUTE = 2 };
enum {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_ORDER = 4,        /* ctrl_deps */
    NODE_DEPENDENCIES = 5, /* data_deps */
    NODE_START_US = 6,
    NODE_DURATION_US = 7,
    NODE_ATTRIBUTE = 10
};
enum { NAME = 1, INT32 = 7, INT64 = 9, UINT64 = 13, BOOL = 27, TEXT = 29 };

/* Values of enums: types of nodes, types of collectives. */
enum { COMPUTE = 4, SEND = 5, RECEIVE = 6, COLLECTIVE = 7 };
enum { ALL_REDUCE = 0, ALL_GATHER = 2, REDUCE_SCATTER = 7 };

/* The message of a node, and what it is made of. */
struct message {
    struct mtlm_wire node, part;
    int64_t sent; /* the last send or collective of the rank; 0: none */
};

/* ---- groups ---- */

/* Returns the number of a group, from 1: ASTRA-sim has a group 0 of all ranks,
 * whose collectives match only if all ranks have equally many collectives. */
static int group_number(int group, int root)
{
    return root * MTLM_GROUP_COUNT + group + 1;
}

/* Writes the ranks of the group with that root. */
static void put_group(FILE *f, struct mtlm_layout layout, int group, int root)
{
    const char *between = "[";

    fprintf(f, "\"%d\": ", group_number(group, root));
    for (int r = root; r < mtlm_layout_ranks(&layout); r++) {
        mtlm_layout_place(&layout, r);
        if (mtlm_layout_root(&layout, group) != root)
            continue;
        fprintf(f, "%s%d", between, r);
        between = ", ";
    }
    putc(']', f);
}

void mtlm_trace_write_groups(FILE *f, const void *what)
{
    struct mtlm_layout layout = *(const struct mtlm_layout *) what;
    const bool used[] = {[MTLM_GROUP_TP] = layout.tp > 1,
                         [MTLM_GROUP_DP] = layout.dp > 1,
                         [MTLM_GROUP_EMBEDDING] = true,
                         [MTLM_GROUP_WORLD] = true};
    const char *between = "{";

    for (int r = 0; r < mtlm_layout_ranks(&layout); r++)
        for (int g = 0; g < MTLM_GROUP_COUNT; g++) {
            mtlm_layout_place(&layout, r);
            if (!used[g] || mtlm_layout_root(&layout, g) != r)
                continue;
            fputs(between, f);
            put_group(f, layout, g, r);
            between = ",\n ";
        }
    fputs("}\n", f);
}

/* ---- attributes ---- */

static void end_attribute(struct message *m)
{
    mtlm_wire_message(&m->node, NODE_ATTRIBUTE, &m->part);
}

static void add_number(struct message *m, const char *name, int type,
                       int64_t value)
{
    mtlm_wire_text(&m->part, NAME, name);
    mtlm_wire_number(&m->part, type, (uint64_t) value);
    end_attribute(m);
}

static void add_text(struct message *m, const char *name, const char *text)
{
    mtlm_wire_text(&m->part, NAME, name);
    mtlm_wire_text(&m->part, TEXT, text);
    end_attribute(m);
}

/* Adds what the node is of; -1: nothing. */
static void add_place(struct message *m, const struct mtlm_record *r)
{
    add_text(m, "phase", mtlm_trace_phase_name(r->phase));
    add_number(m, "priority", INT64, r->priority);
    if (r->microbatch >= 0)
        add_number(m, "microbatch", INT64, r->microbatch);
    if (r->stage >= 0)
        add_number(m, "stage", INT64, r->stage);
    if (r->layer >= 0)
        add_number(m, "layer", INT64, r->layer);
}

/* ---- nodes ---- */

static int type_of(const struct mtlm_record *r)
{
    switch (mtlm_ops[r->op]->op_class) {
    case MTLM_CLASS_COLLECTIVE:
        return COLLECTIVE;
    case MTLM_CLASS_P2P:
        return r->op == MTLM_OP_SEND ? SEND : RECEIVE;
    default:
        return COMPUTE;
    }
}

static int collective_of(const struct mtlm_record *r)
{
    switch (r->op) {
    case MTLM_OP_ALL_GATHER:
    case MTLM_OP_BUCKET_ALL_GATHER:
        return ALL_GATHER;
    case MTLM_OP_REDUCE_SCATTER:
    case MTLM_OP_BUCKET_REDUCE_SCATTER:
        return REDUCE_SCATTER;
    default:
        return ALL_REDUCE;
    }
}

static void add_collective(struct message *m, const struct mtlm_record *r)
{
    char group[16];

    snprintf(group, sizeof(group), "%d", group_number(r->group, r->group_root));
    add_number(m, "comm_type", INT64, collective_of(r));
    add_number(m, "comm_size", INT64, (int64_t) r->bytes);
    add_text(m, "pg_name", group);
}

static void add_work(struct message *m, const struct mtlm_record *r, int rank)
{
    const int type = type_of(r);

    add_number(m, "is_cpu_op", BOOL, false);
    if (type == COMPUTE) {
        add_number(m, "num_ops", INT64, (int64_t) r->flops);
        add_number(m, "tensor_size", UINT64, (int64_t) r->bytes);
    } else if (type == COLLECTIVE) {
        add_collective(m, r);
    } else {
        add_number(m, "comm_src", INT32, type == SEND ? rank : r->peer);
        add_number(m, "comm_dst", INT32, type == SEND ? r->peer : rank);
        add_number(m, "comm_tag", INT32, r->match);
        add_number(m, "comm_size", INT64, (int64_t) r->bytes);
    }
}

static void add_dependencies(struct message *m,
                             const struct mtlm_trace_info *info,
                             const struct mtlm_record *r)
{
    size_t n;
    const struct mtlm_trace_edge *edge = mtlm_trace_edges(info, r, &n);

    for (size_t i = 0; i < n; i++)
        mtlm_wire_packed(&m->part, (uint64_t) edge[i].on_job);
    if (n > 0)
        mtlm_wire_message(&m->node, NODE_DEPENDENCIES, &m->part);
}

/* Makes sends and collectives of a rank wait for each other in order of starts.
 * Without this order ASTRA-sim deadlocks: a rank runs one of them at a time,
 * and ranks could begin with different collectives. */
static void add_order(struct message *m, const struct mtlm_record *r)
{
    const int type = type_of(r);

    if (type != SEND && type != COLLECTIVE)
        return;
    if (m->sent > 0) {
        mtlm_wire_packed(&m->part, (uint64_t) m->sent);
        mtlm_wire_message(&m->node, NODE_ORDER, &m->part);
    }
    m->sent = r->job;
}

/* Rounds start and end, so that durations of a chain add up to its length. */
static void put_node(FILE *f, struct message *m,
                     const struct mtlm_trace_rank_graph *rank,
                     const struct mtlm_record *r)
{
    const int64_t start_us = (r->start_ns + 500) / 1000;

    mtlm_wire_number(&m->node, NODE_ID, (uint64_t) r->job);
    mtlm_wire_text(&m->node, NODE_NAME, mtlm_trace_op_name(r));
    mtlm_wire_number(&m->node, NODE_TYPE, (uint64_t) type_of(r));
    add_order(m, r);
    add_dependencies(m, rank->info, r);
    mtlm_wire_number(&m->node, NODE_START_US, (uint64_t) start_us);
    mtlm_wire_number(&m->node, NODE_DURATION_US,
                     (uint64_t) ((r->end_ns + 500) / 1000 - start_us));
    add_work(m, r, rank->rank);
    add_place(m, r);
    mtlm_wire_put(f, &m->node);
}

static void put_metadata(FILE *f, struct message *m, int rank)
{
    mtlm_wire_text(&m->node, METADATA_VERSION, "1.0.0");
    mtlm_wire_text(&m->part, NAME, "rank");
    mtlm_wire_number(&m->part, INT64, (uint64_t) rank);
    mtlm_wire_message(&m->node, METADATA_ATTRIBUTE, &m->part);
    mtlm_wire_put(f, &m->node);
}

void mtlm_trace_write_chakra(FILE *f, const void *what)
{
    const struct mtlm_trace_rank_graph *rank = what;
    struct message m = {.sent = 0};

    put_metadata(f, &m, rank->rank);
    for (size_t i = 0; i < rank->n; i++)
        put_node(f, &m, rank, &rank->record[i]);
    mtlm_wire_free(&m.node);
    mtlm_wire_free(&m.part);
}
