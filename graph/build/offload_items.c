/* Inserts loads and stores where nodes need units that lie on the disk. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/items.h"
#include "graph/build/offload.h"
#include "graph/build/offload_items.h"
#include "runtime/base/memory.h"

/* ---- control uses ---- */

static struct mtlm_unit *unit_of(const struct mtlm_program *program,
                                 struct mtlm_tensor *tensor)
{
    const int unit = mtlm_tensor_owner(tensor)->unit;

    return unit < 0 ? NULL : &program->offloaded.unit[unit];
}

/* Returns whether a use of the node, before use n, needs the unit. */
static bool needs(const struct mtlm_program *program,
                  const struct mtlm_node *node, int n,
                  const struct mtlm_unit *unit)
{
    for (int i = 0; i < n; i++)
        if (unit_of(program, mtlm_node_use(node, i).tensor) == unit)
            return true;
    return false;
}

static void hold_slots(const struct mtlm_program *program,
                       struct mtlm_node *node)
{
    const int n = mtlm_node_n_uses(node);

    for (int i = 0; i < n; i++) {
        const struct mtlm_unit *unit =
            unit_of(program, mtlm_node_use(node, i).tensor);

        if (unit && !needs(program, node, i, unit))
            mtlm_node_add_use(node, unit->slot, MTLM_R, true);
    }
}

void mtlm_offload_items_hold(struct mtlm_program *program)
{
    for (int i = 0; i < program->graph->all.n; i++)
        hold_slots(program, program->graph->all.node[i]);
}

/* ---- transfers ---- */

/* LOAD_ZEROS, STORE_ZEROS: the disk neither reads nor writes. */
enum offload_move { LOAD, LOAD_ZEROS, STORE, STORE_ZEROS, MOVES };
enum { PHASES = MTLM_PHASE_SAVE + 1 };

/* What a slot holds. */
struct holding {
    int unit; /* -1: nothing that is needed */
    bool changed;
    bool zeros; /* the last change leaves nothing but zeros */
};

struct apply {
    struct mtlm_program *program;
    struct mtlm_items out;
    struct holding *slot; /* [n_slots] */
    bool *empty;          /* [n_units]: its pieces read as zeros */
    /* [n_units][PHASES][MOVES]: nodes so far, or NULL. */
    struct mtlm_node **node;
    struct mtlm_list list; /* of new nodes */
    bool stepping;         /* behind the control node */
    struct mtlm_offload_bytes bytes;
};

/* Returns the node that moves the unit on behalf of a node of a phase. */
static struct mtlm_node *node_of(struct apply *apply, int number,
                                 const struct mtlm_node *needed,
                                 enum offload_move move)
{
    const struct mtlm_unit *unit = &apply->program->offloaded.unit[number];
    struct mtlm_node **node =
        &apply->node[(number * PHASES + needed->phase) * MOVES + move];
    const union mtlm_attr attr = {
        .disk = {unit->piece, unit->pieces, move == STORE_ZEROS}};
    struct mtlm_graph *graph = apply->program->graph;
    struct mtlm_tensor *slot = unit->slot;

    if (*node)
        return *node;
    mtlm_graph_at(graph, &apply->list, needed->phase, needed->stage, -1);
    *node = mtlm_graph_call(graph, move < STORE ? MTLM_OP_LOAD : MTLM_OP_STORE,
                            &attr, &slot);
    (*node)->bytes = move == LOAD || move == STORE ? (double) unit->bytes : 0;
    return *node;
}

static void append(struct apply *apply, int unit, const struct mtlm_item *item,
                   enum offload_move move)
{
    mtlm_items_append(&apply->out,
                      (struct mtlm_item){node_of(apply, unit, item->node, move),
                                         -1, item->priority, -1});
}

/* Stores what the slot holds, if that changed, on behalf of item. */
static void store(struct apply *apply, struct holding *slot,
                  const struct mtlm_item *item)
{
    const enum offload_move move = slot->zeros ? STORE_ZEROS : STORE;

    if (slot->unit < 0 || !slot->changed)
        return;
    append(apply, slot->unit, item, move);
    slot->changed = false;
    apply->empty[slot->unit] = slot->zeros;
    if (!slot->zeros)
        apply->bytes.stored +=
            (double) apply->program->offloaded.unit[slot->unit].bytes;
}

/* Brings the unit into its slot. */
static struct holding *load(struct apply *apply, const struct mtlm_unit *unit,
                            const struct mtlm_item *item)
{
    const int number = (int) (unit - apply->program->offloaded.unit);
    struct holding *slot = &apply->slot[unit->number_of_slot];

    if (slot->unit == number)
        return slot;
    store(apply, slot, item);
    *slot = (struct holding){.unit = number};
    append(apply, number, item, apply->empty[number] ? LOAD_ZEROS : LOAD);
    if (!apply->empty[number])
        apply->bytes.loaded += (double) unit->bytes;
    return slot;
}

/* A copy for a checkpoint reads the slot of its unit. */
static const struct mtlm_unit *copied_unit(const struct apply *apply,
                                           const struct mtlm_node *node)
{
    const struct mtlm_offloaded *o = &apply->program->offloaded;

    if (node->call.kind != MTLM_OP_STORE)
        return NULL;
    for (int u = 0; u < o->n_units; u++)
        if (o->unit[u].saved_piece == node->call.attr.disk.first)
            return &o->unit[u];
    return NULL;
}

static void bring_units(struct apply *apply, const struct mtlm_item *item)
{
    const struct mtlm_node *node = item->node;
    const struct mtlm_unit *copied = copied_unit(apply, node);

    if (copied)
        load(apply, copied, item);
    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);
        const struct mtlm_unit *unit = unit_of(apply->program, use.tensor);
        struct holding *slot = unit ? load(apply, unit, item) : NULL;

        if (!slot || use.access == MTLM_R)
            continue;
        slot->changed = true;
        slot->zeros = apply->stepping && unit->storage == MTLM_STORE_GRAD;
    }
}

/* Stores all changes, on behalf of item. */
static void store_all(struct apply *apply, const struct mtlm_item *item)
{
    for (int s = 0; s < apply->program->offloaded.n_slots; s++)
        store(apply, &apply->slot[s], item);
}

/* Initial values find an empty disk; iterations find no gradients there. */
static bool is_empty(const struct mtlm_program *program,
                     const struct mtlm_items *items,
                     const struct mtlm_unit *unit)
{
    return items == &program->init || unit->storage == MTLM_STORE_GRAD;
}

static struct apply begin(struct mtlm_program *program,
                          const struct mtlm_items *items)
{
    const struct mtlm_offloaded *o = &program->offloaded;
    struct apply apply = {
        .program = program,
        .slot = mtlm_calloc(o->n_slots, sizeof(*apply.slot)),
        .empty = mtlm_calloc(o->n_units, sizeof(*apply.empty)),
        .node = mtlm_calloc((size_t) o->n_units * PHASES * MOVES,
                            sizeof(*apply.node))};

    for (int s = 0; s < o->n_slots; s++)
        apply.slot[s].unit = -1;
    for (int u = 0; u < o->n_units; u++)
        apply.empty[u] = is_empty(program, items, &o->unit[u]);
    return apply;
}

struct mtlm_offload_bytes mtlm_offload_items_apply(struct mtlm_program *program,
                                                   struct mtlm_items *items)
{
    struct apply apply;

    if (program->offloaded.n_units == 0 || items->n == 0)
        return (struct mtlm_offload_bytes){0};
    apply = begin(program, items);
    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];

        if (item->node->call.kind == MTLM_OP_CONTROL) {
            store_all(&apply, item);
            apply.stepping = true;
        }
        bring_units(&apply, item);
        mtlm_items_append(&apply.out, *item);
    }
    store_all(&apply, &items->item[items->n - 1]);
    mtlm_items_free(items);
    *items = apply.out;
    mtlm_list_free(&apply.list);
    free(apply.slot);
    free(apply.empty);
    free(apply.node);
    return apply.bytes;
}
