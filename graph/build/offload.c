/* Deals state out to units on a disk: weights, gradients, moments, masters. */

#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/build/offload.h"
#include "graph/build/offload_units.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/file/offload_file.h"

bool mtlm_offload_streams(const struct mtlm_program_config *config)
{
    return config->offload == MTLM_OFFLOAD_ALL
           && (config->offload_amount.gradients > 0
               || config->offload_amount.weights > 0
               || config->offload_amount.inputs > 0);
}

int mtlm_offload_group(const struct mtlm_program_config *config)
{
    const int group = config->offload_amount.group;

    return group > 0 && group < config->microbatches
               ? group
               : (int) config->microbatches;
}

struct mtlm_parameter *mtlm_offload_param(const struct mtlm_program *program,
                                          const struct mtlm_unit *unit,
                                          int place)
{
    return &program->param[program->bucket[unit->bucket].param[place]];
}

double mtlm_offload_bytes(const struct mtlm_program *program)
{
    const struct mtlm_offloaded *o = &program->offloaded;
    double bytes = 0;

    for (int i = 0; i < o->n_pieces; i++)
        bytes += (double) mtlm_offload_file_padded(o->piece[i]);
    return bytes;
}

/* ---- slots ---- */

/* The slots that units of a kind take in turn. */
struct slot_turn {
    struct mtlm_program *program;
    enum mtlm_storage storage;
    int64_t bytes; /* of each slot */
    int block;     /* -1: no slot yet */
    struct mtlm_tensor *slot[MTLM_OFFLOAD_SLOTS];
    int taken; /* units that have a slot */
};

static struct mtlm_tensor *add_slot(struct slot_turn *slots, int number)
{
    struct mtlm_graph *graph = slots->program->graph;
    char name[32];
    struct mtlm_tensor *slot;

    if (slots->block < 0)
        slots->block = mtlm_graph_block(graph);
    graph->stage = -1;
    snprintf(name, sizeof(name), "offload.slot.%d",
             slots->program->offloaded.n_slots + number);
    slot = mtlm_graph_tensor(
        graph, slots->storage, name,
        MTLM_SHAPE(slots->bytes / (int64_t) sizeof(mtlm_real)), MTLM_REAL);
    mtlm_graph_place(graph, slot, slots->block, number * slots->bytes);
    return slot;
}

/* Gives the unit the next slot in turn. */
static void take_slot(struct slot_turn *slots, struct mtlm_unit *unit)
{
    const int number = slots->taken++ % MTLM_OFFLOAD_SLOTS;

    assert(unit->bytes <= slots->bytes);
    if (!slots->slot[number])
        slots->slot[number] = add_slot(slots, number);
    unit->slot = slots->slot[number];
    unit->number_of_slot = slots->program->offloaded.n_slots + number;
}

static void end_slots(const struct slot_turn *slots)
{
    slots->program->offloaded.n_slots +=
        slots->taken < MTLM_OFFLOAD_SLOTS ? slots->taken : MTLM_OFFLOAD_SLOTS;
}

/* Makes the tensor a view of the unit's slot, at offset. */
static void place_in_slot(struct mtlm_program *program,
                          const struct mtlm_unit *unit,
                          struct mtlm_tensor *tensor, int64_t offset)
{
    tensor->view = true;
    mtlm_graph_place(program->graph, tensor, unit->slot->block,
                     unit->slot->offset + offset);
}

/* ---- moments and masters ---- */

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

/* Returns the bytes of a parameter's moments in a unit. */
static int64_t bytes_of(const struct mtlm_parameter *p)
{
    const struct moments t = moments_of(p);
    int64_t bytes = 0;

    for (int i = 0; i < t.n; i++)
        bytes +=
            mtlm_offload_file_padded((int64_t) mtlm_tensor_bytes(t.tensor[i]));
    return bytes;
}

static int largest_first(const void *a, const void *b)
{
    return mtlm_compare_int64(b, a);
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

/* Moments and masters are a piece each. */
static void add_moments(struct mtlm_program *program, struct mtlm_unit *unit,
                        int place)
{
    const struct moments t =
        moments_of(mtlm_offload_param(program, unit, place));

    for (int i = 0; i < t.n; i++) {
        t.tensor[i]->unit = (int) (unit - program->offloaded.unit);
        t.tensor[i]->piece = unit->piece + unit->pieces;
        mtlm_offload_units_add_piece(program, unit,
                                     (int64_t) mtlm_tensor_bytes(t.tensor[i]));
    }
    unit->n = place + 1 - unit->first;
}

static void deal_out_moments(struct mtlm_program *program, int bucket,
                             int64_t most)
{
    const struct mtlm_bucket *b = &program->bucket[bucket];
    struct mtlm_unit *unit = NULL;

    for (int i = 0; i < b->n; i++) {
        const int64_t bytes = bytes_of(&program->param[b->param[i]]);

        if (bytes == 0 || bytes > most)
            continue;
        if (!unit || unit->bytes + bytes > most)
            unit =
                mtlm_offload_units_add(program, MTLM_STORE_MOMENT, bucket, i);
        add_moments(program, unit, i);
    }
}

/* Places the moments of a unit in its slot, as they lie in the file. */
static void place_moments(struct mtlm_program *program,
                          const struct mtlm_unit *unit)
{
    const int number = (int) (unit - program->offloaded.unit);
    int64_t at = 0;

    for (int i = unit->first; i < unit->first + unit->n; i++) {
        const struct moments t =
            moments_of(mtlm_offload_param(program, unit, i));

        for (int k = 0; k < t.n && t.tensor[k]->unit == number; k++) {
            place_in_slot(program, unit, t.tensor[k], at);
            at += mtlm_offload_file_padded(
                (int64_t) mtlm_tensor_bytes(t.tensor[k]));
        }
    }
}

/* Gives the moments that stay in memory a block of their own. */
static void place_others(struct mtlm_program *program)
{
    const int block = mtlm_graph_block(program->graph);

    for (int i = 0; i < program->n_params; i++) {
        const struct moments t = moments_of(&program->param[i]);

        for (int k = 0; k < t.n && t.tensor[k]->unit < 0; k++)
            mtlm_graph_place(program->graph, t.tensor[k], block,
                             mtlm_offload_file_padded(
                                 (int64_t) program->graph->block[block]));
    }
}

static void create_moments(struct mtlm_program *program)
{
    struct slot_turn slots = {.program = program,
                              .storage = MTLM_STORE_MOMENT,
                              .bytes = choose_slot(program),
                              .block = -1};
    struct mtlm_offloaded *o = &program->offloaded;
    const int first = o->n_units;

    for (int b = 0; b < program->n_buckets; b++)
        deal_out_moments(program, b, slots.bytes);
    for (int u = first; u < o->n_units; u++) {
        take_slot(&slots, &o->unit[u]);
        place_moments(program, &o->unit[u]);
    }
    end_slots(&slots);
    place_others(program);
}

/* ---- weights and gradients ---- */

/* Bytes of the pieces of a block.  A tensor is read and written by whole
 * pieces. */
enum { PIECE = 64 << 10 };

static struct mtlm_tensor *tensor_of(const struct mtlm_parameter *p,
                                     enum mtlm_storage storage)
{
    return storage == MTLM_STORE_PARAM ? p->weight : p->grad;
}

/* Returns whether the bucket may be offloaded: not the bucket of a word
 * embedding. */
static bool may_offload(const struct mtlm_program *program,
                        const struct mtlm_bucket *bucket)
{
    return program->param[bucket->param[0]].kind != MTLM_PARAM_WORD;
}

/* Moves all tensors of a bucket's block into the slot of its unit.  All have a
 * place in the file, views too: the slot holds other units later. */
static void move_block(struct mtlm_program *program, struct mtlm_unit *unit)
{
    struct mtlm_graph *graph = program->graph;
    const int block =
        tensor_of(mtlm_offload_param(program, unit, 0), unit->storage)->block;

    for (int i = 0; i < graph->n_tensors; i++) {
        struct mtlm_tensor *t = graph->tensor[i];

        if (t->block != block)
            continue;
        t->unit = (int) (unit - program->offloaded.unit);
        t->piece = unit->piece + (int) (t->offset / PIECE);
        t->piece_offset = t->offset % PIECE;
        place_in_slot(program, unit, t, t->offset);
    }
    graph->block[block] = 0;
}

/* Returns the bytes of a bucket's block in the file. */
static int64_t block_bytes(const struct mtlm_program *program,
                           const struct mtlm_bucket *bucket,
                           enum mtlm_storage storage)
{
    const int block =
        tensor_of(&program->param[bucket->param[0]], storage)->block;

    return mtlm_offload_file_padded((int64_t) program->graph->block[block]);
}

static void add_block(struct slot_turn *slots, int bucket)
{
    struct mtlm_program *program = slots->program;
    struct mtlm_unit *unit =
        mtlm_offload_units_add(program, slots->storage, bucket, 0);
    const int64_t bytes =
        block_bytes(program, &program->bucket[bucket], slots->storage);

    unit->n = program->bucket[bucket].n;
    for (int64_t at = 0; at < bytes; at += PIECE)
        mtlm_offload_units_add_piece(program, unit,
                                     bytes - at < PIECE ? bytes - at : PIECE);
    take_slot(slots, unit);
    move_block(program, unit);
}

/* Makes `most` of the n buckets that may be offloaded units, spread evenly. */
static void create_blocks(struct mtlm_program *program,
                          enum mtlm_storage storage, int most)
{
    struct slot_turn slots = {
        .program = program, .storage = storage, .block = -1};
    int n = 0, at = 0;

    for (int b = 0; b < program->n_buckets; b++)
        n += may_offload(program, &program->bucket[b]);
    most = most < n ? most : n;
    for (int pass = 0; pass < 2; pass++) {
        at = 0;
        for (int b = 0; b < program->n_buckets; b++) {
            const struct mtlm_bucket *bucket = &program->bucket[b];
            int64_t bytes;

            if (!may_offload(program, bucket))
                continue;
            at++;
            if ((int64_t) at * most / n == (int64_t) (at - 1) * most / n)
                continue;
            bytes = pass == 0 ? block_bytes(program, bucket, storage) : 0;
            slots.bytes = bytes > slots.bytes ? bytes : slots.bytes;
            if (pass == 1)
                add_block(&slots, b);
        }
    }
    end_slots(&slots);
}

bool mtlm_offload_has_gradients(const struct mtlm_program *program,
                                const struct mtlm_bucket *bucket)
{
    return program->param[bucket->param[0]].grad->unit >= 0;
}

void mtlm_offload_create(struct mtlm_program *program)
{
    const struct mtlm_offload_amount *amount = &program->config.offload_amount;

    if (mtlm_offload_streams(&program->config)) {
        create_blocks(program, MTLM_STORE_PARAM, amount->weights);
        if (!program->config.eval_only)
            create_blocks(program, MTLM_STORE_GRAD, amount->gradients);
    }
    if (!program->config.eval_only)
        create_moments(program);
}

/* ---- copies for checkpoints ---- */

void mtlm_offload_build_copy(struct mtlm_program *program,
                             struct mtlm_unit *unit)
{
    struct mtlm_offloaded *o = &program->offloaded;
    const union mtlm_attr attr = {
        .disk = {.first = o->n_pieces, .n = unit->pieces}};
    struct mtlm_node *node;

    unit->saved_piece = o->n_pieces;
    for (int i = 0; i < unit->pieces; i++)
        mtlm_offload_units_append_piece(program, o->piece[unit->piece + i]);
    unit->saved = mtlm_graph_tensor(program->graph, MTLM_STORE_CONTROL,
                                    "offload.saved", MTLM_SHAPE(1), MTLM_F64);
    unit->saved->stage = -1; /* no ring */
    node = mtlm_graph_call(program->graph, MTLM_OP_STORE, &attr, &unit->slot);
    node->bytes = (double) unit->bytes;
    mtlm_node_add_use(node, unit->saved, MTLM_W, true);
}
