/* Deals moments and masters out to units on a disk, and builds the nodes that
 * load and store units. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph/build/offload.h"
#include "runtime/base/memory.h"
#include "runtime/file/offload_file.h"

/* ---- units ---- */

/* Moments and master of a parameter, in the order of the file. */
struct moments {
    struct mtlm_tensor *tensor[3];
    int n;
};

static struct moments moments_of(const struct mtlm_parameter *p)
{
    struct moments t = {0};

    if (p->m) {
        t.tensor[t.n++] = p->m;
        t.tensor[t.n++] = p->v;
    }
    if (p->master)
        t.tensor[t.n++] = p->master;
    return t;
}

/* Returns the bytes of a parameter in a unit. */
static int64_t bytes_of(const struct mtlm_parameter *p)
{
    const struct moments t = moments_of(p);
    int64_t bytes = 0;

    for (int i = 0; i < t.n; i++)
        bytes +=
            mtlm_offload_file_padded((int64_t) mtlm_tensor_bytes(t.tensor[i]));
    return bytes;
}

bool mtlm_offload_has(const struct mtlm_parameter *p)
{
    return p->m && p->m->piece >= 0;
}

struct mtlm_parameter *mtlm_offload_param(const struct mtlm_program *program,
                                          const struct mtlm_unit *unit,
                                          int place)
{
    return &program->param[program->bucket[unit->bucket].param[place]];
}

/* Adds a piece to the rank's file; returns its number. */
static int add_piece(struct mtlm_offloaded *o, int64_t bytes)
{
    o->piece = mtlm_realloc(o->piece, o->n_pieces + 1, sizeof(*o->piece));
    o->piece[o->n_pieces] = bytes;
    return o->n_pieces++;
}

static struct mtlm_unit *add_unit(struct mtlm_program *program, int bucket,
                                  int first)
{
    struct mtlm_offloaded *o = &program->offloaded;

    o->unit = mtlm_realloc(o->unit, o->n_units + 1, sizeof(*o->unit));
    o->unit[o->n_units] = (struct mtlm_unit){.bucket = bucket,
                                             .first = first,
                                             .piece = o->n_pieces,
                                             .saved_piece = -1};
    return &o->unit[o->n_units++];
}

static void add_param(struct mtlm_program *program, struct mtlm_unit *unit,
                      int place)
{
    const struct mtlm_parameter *p =
        &program->param[program->bucket[unit->bucket].param[place]];
    const struct moments t = moments_of(p);

    for (int i = 0; i < t.n; i++)
        t.tensor[i]->piece = add_piece(
            &program->offloaded, (int64_t) mtlm_tensor_bytes(t.tensor[i]));
    unit->n = place + 1 - unit->first;
    unit->pieces += t.n;
    unit->bytes += bytes_of(p);
}

static int largest_first(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x < *y) - (*x > *y);
}

/* Returns the size of a slot, for which slots and larger parameters, which stay
 * in memory, take least together. */
static int64_t choose_slot(const struct mtlm_program *program)
{
    int64_t *bytes = mtlm_calloc(program->n_params, sizeof(*bytes));
    int64_t larger = 0, least = INT64_MAX, slot = 0;

    for (int i = 0; i < program->n_params; i++)
        bytes[i] = bytes_of(&program->param[i]);
    qsort(bytes, program->n_params, sizeof(*bytes), largest_first);
    for (int i = 0; i < program->n_params && bytes[i] > 0; i++) {
        if (larger + MTLM_OFFLOAD_SLOTS * bytes[i] < least) {
            least = larger + MTLM_OFFLOAD_SLOTS * bytes[i];
            slot = bytes[i];
        }
        larger += bytes[i];
    }
    free(bytes);
    return slot;
}

static void deal_out(struct mtlm_program *program, int bucket, int64_t most)
{
    const struct mtlm_bucket *b = &program->bucket[bucket];
    struct mtlm_unit *unit = NULL;

    for (int i = 0; i < b->n; i++) {
        const int64_t bytes = bytes_of(&program->param[b->param[i]]);

        if (bytes == 0 || bytes > most)
            continue;
        if (!unit || unit->bytes + bytes > most)
            unit = add_unit(program, bucket, i);
        add_param(program, unit, i);
    }
}

/* Makes the tensors of a parameter views of a slot, from offset on, as they lie
 * in the file.  Returns the offset behind them. */
static int64_t place_param(struct mtlm_program *program,
                           const struct mtlm_tensor *slot,
                           const struct mtlm_parameter *p, int64_t offset)
{
    const struct moments t = moments_of(p);

    for (int i = 0; i < t.n; i++) {
        t.tensor[i]->view = true;
        mtlm_graph_place(program->graph, t.tensor[i], slot->block, offset);
        offset +=
            mtlm_offload_file_padded((int64_t) mtlm_tensor_bytes(t.tensor[i]));
    }
    return offset;
}

static void place_unit(struct mtlm_program *program,
                       const struct mtlm_unit *unit)
{
    int64_t at = unit->slot->offset;

    for (int i = unit->first; i < unit->first + unit->n; i++)
        if (mtlm_offload_has(mtlm_offload_param(program, unit, i)))
            at = place_param(program, unit->slot,
                             mtlm_offload_param(program, unit, i), at);
}

/* Gives the parameters that stay in memory a block of their own. */
static void place_others(struct mtlm_program *program)
{
    const int block = mtlm_graph_block(program->graph);

    for (int i = 0; i < program->n_params; i++) {
        const struct moments t = moments_of(&program->param[i]);

        for (int k = 0; k < t.n && t.tensor[k]->piece < 0; k++)
            mtlm_graph_place(program->graph, t.tensor[k], block,
                             mtlm_offload_file_padded(
                                 (int64_t) program->graph->block[block]));
    }
}

static struct mtlm_tensor *add_slot(struct mtlm_program *program, int block,
                                    int number, int64_t bytes)
{
    char name[32];
    struct mtlm_tensor *slot;

    snprintf(name, sizeof(name), "offload.slot.%d", number);
    slot = mtlm_graph_tensor(program->graph, MTLM_STORE_MOMENT, name,
                             MTLM_SHAPE(bytes / (int64_t) sizeof(mtlm_real)),
                             MTLM_REAL);
    mtlm_graph_place(program->graph, slot, block, number * bytes);
    return slot;
}

void mtlm_offload_create(struct mtlm_program *program)
{
    struct mtlm_offloaded *o = &program->offloaded;
    const int64_t most = choose_slot(program);
    struct mtlm_tensor *slot[MTLM_OFFLOAD_SLOTS] = {NULL};
    int block;

    for (int b = 0; b < program->n_buckets; b++)
        deal_out(program, b, most);
    if (o->n_units == 0)
        return;
    block = mtlm_graph_block(program->graph);
    program->graph->stage = -1;
    for (int u = 0; u < o->n_units; u++) {
        struct mtlm_tensor **mine = &slot[u % MTLM_OFFLOAD_SLOTS];

        if (!*mine)
            *mine = add_slot(program, block, u, most);
        o->unit[u].slot = *mine;
        place_unit(program, &o->unit[u]);
    }
    place_others(program);
}

double mtlm_offload_bytes(const struct mtlm_program *program)
{
    const struct mtlm_offloaded *o = &program->offloaded;
    double bytes = 0;

    for (int i = 0; i < o->n_pieces; i++)
        bytes += (double) mtlm_offload_file_padded(o->piece[i]);
    return bytes;
}

/* ---- nodes ---- */

/* Appends a load or a store of pieces from `first` on. */
static struct mtlm_node *build_transfer(struct mtlm_program *program,
                                        const struct mtlm_unit *unit,
                                        enum mtlm_op_kind kind, int first)
{
    const union mtlm_attr attr = {.disk = {first, unit->pieces}};
    struct mtlm_tensor *slot = unit->slot;
    struct mtlm_node *node =
        mtlm_graph_call(program->graph, kind, &attr, &slot);

    node->bytes = (double) unit->bytes;
    return node;
}

void mtlm_offload_build_load(struct mtlm_program *program,
                             const struct mtlm_unit *unit)
{
    build_transfer(program, unit, MTLM_OP_LOAD, unit->piece);
}

void mtlm_offload_build_store(struct mtlm_program *program,
                              const struct mtlm_unit *unit)
{
    build_transfer(program, unit, MTLM_OP_STORE, unit->piece);
}

void mtlm_offload_build_copy(struct mtlm_program *program,
                             struct mtlm_unit *unit)
{
    struct mtlm_offloaded *o = &program->offloaded;

    unit->saved_piece = o->n_pieces;
    for (int i = 0; i < unit->pieces; i++)
        add_piece(o, o->piece[unit->piece + i]);
    unit->saved = mtlm_graph_tensor(program->graph, MTLM_STORE_CONTROL,
                                    "offload.saved", MTLM_SHAPE(1), MTLM_F64);
    unit->saved->stage = -1; /* no ring */
    mtlm_offload_build_load(program, unit);
    mtlm_node_add_use(
        build_transfer(program, unit, MTLM_OP_STORE, unit->saved_piece),
        unit->saved, MTLM_W, true);
}
