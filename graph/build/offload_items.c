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

        if (unit && unit->microbatches == 0 && !needs(program, node, i, unit))
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
    int unit;       /* -1: nothing that is needed */
    int microbatch; /* of an input, else 0 */
    bool changed;
    bool zeros; /* the last change leaves zeros, or what nobody reads */
};

/* What is loaded or stored at a time: a unit, or an input of one microbatch. */
struct cargo {
    bool empty; /* its pieces read as zeros, or nobody wrote them */
    int last;   /* number of the item that needs an input last */
};

/* A node's use of a unit. */
struct unit_use {
    const struct mtlm_unit *unit;
    bool changes;
};

struct apply {
    struct mtlm_program *program;
    /* Of all nodes; those of a node, in the node's order, begin at its id's
     * number.  A node stands in many items: the search for a node's units would
     * take most of the time. */
    struct unit_use *use;
    int *first_use; /* [nodes + 1] */
    bool counts; /* only bytes and moves are wanted: no node, no item is made */
    struct mtlm_items out;
    struct holding *slot; /* [n_slots] */
    struct cargo *cargo;
    int *first_cargo; /* [n_units]: number of the unit's first one */
    /* [n_units][PHASES][MOVES]: nodes so far, or NULL. */
    struct mtlm_node **node;
    struct mtlm_list list; /* of new nodes */
    bool stepping;         /* behind the control node */
    struct mtlm_offload_bytes bytes;
};

static const struct mtlm_unit *unit_at(const struct apply *apply, int number)
{
    return &apply->program->offloaded.unit[number];
}

/* Returns what the item needs of the unit. */
static struct holding need_of(const struct apply *apply,
                              const struct mtlm_unit *unit,
                              const struct mtlm_item *item)
{
    return (struct holding){
        .unit = (int) (unit - apply->program->offloaded.unit),
        .microbatch = unit->microbatches > 0 ? item->microbatch : 0};
}

static struct cargo *cargo_of(const struct apply *apply,
                              const struct holding *holding)
{
    return &apply->cargo[apply->first_cargo[holding->unit]
                         + holding->microbatch];
}

/* Returns the node that moves the unit on behalf of a node of a phase. */
static struct mtlm_node *node_of(struct apply *apply, int number,
                                 const struct mtlm_node *needed,
                                 enum offload_move move)
{
    const struct mtlm_unit *unit = unit_at(apply, number);
    struct mtlm_node **node =
        &apply->node[(number * PHASES + needed->phase) * MOVES + move];
    const union mtlm_attr attr = {
        .disk = {.first = unit->piece,
                 .n = unit->pieces,
                 .step = unit->microbatches > 0 ? unit->pieces : 0,
                 .zeros = move == STORE_ZEROS}};
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

/* Appends a move of what the slot holds, on behalf of item. */
static void append(struct apply *apply, const struct holding *slot,
                   const struct mtlm_item *item, enum offload_move move)
{
    const bool input = unit_at(apply, slot->unit)->microbatches > 0;

    apply->bytes.moves++;
    if (apply->counts)
        return;
    mtlm_items_append(
        &apply->out,
        (struct mtlm_item){node_of(apply, slot->unit, item->node, move),
                           input ? slot->microbatch : -1, item->priority, -1});
}

/* Stores what the slot holds, if that changed, on behalf of item. */
static void store(struct apply *apply, struct holding *slot,
                  const struct mtlm_item *item)
{
    const enum offload_move move = slot->zeros ? STORE_ZEROS : STORE;

    if (slot->unit < 0 || !slot->changed)
        return;
    append(apply, slot, item, move);
    slot->changed = false;
    cargo_of(apply, slot)->empty = slot->zeros;
    if (!slot->zeros)
        apply->bytes.stored += (double) unit_at(apply, slot->unit)->bytes;
}

/* Brings what item needs into its slot.  The item that writes an input writes
 * the whole: nothing is loaded. */
static struct holding *load(struct apply *apply, const struct mtlm_unit *unit,
                            const struct mtlm_item *item)
{
    const struct holding need = need_of(apply, unit, item);
    struct holding *slot =
        &apply->slot[unit->number_of_slot
                     + mtlm_tensor_slot(unit->slot, need.microbatch).slot];
    const bool empty = cargo_of(apply, &need)->empty;

    if (slot->unit == need.unit && slot->microbatch == need.microbatch)
        return slot;
    store(apply, slot, item);
    *slot = need;
    if (!empty)
        apply->bytes.loaded += (double) unit->bytes;
    if (!empty || unit->microbatches == 0)
        append(apply, slot, item, empty ? LOAD_ZEROS : LOAD);
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

/* Brings what the item needs.  number: of the item.  What no later item needs
 * is not stored. */
static void bring_units(struct apply *apply, const struct mtlm_item *item,
                        int number)
{
    const struct mtlm_node *node = item->node;
    const struct mtlm_unit *copied = copied_unit(apply, node);

    if (copied)
        load(apply, copied, item);
    for (int i = apply->first_use[node->id]; i < apply->first_use[node->id + 1];
         i++) {
        const struct unit_use *use = &apply->use[i];
        struct holding *slot = load(apply, use->unit, item);

        if (use->changes) {
            slot->changed = true;
            slot->zeros =
                apply->stepping && use->unit->storage == MTLM_STORE_GRAD;
        }
        if (cargo_of(apply, slot)->last == number)
            slot->changed = false;
    }
}

/* Stores all changes, on behalf of item. */
static void store_all(struct apply *apply, const struct mtlm_item *item)
{
    for (int s = 0; s < apply->program->offloaded.n_slots; s++)
        store(apply, &apply->slot[s], item);
}

/* Initial values find an empty disk; iterations find no gradients and no inputs
 * there. */
static bool is_empty(const struct mtlm_program *program,
                     const struct mtlm_items *items,
                     const struct mtlm_unit *unit)
{
    return items == &program->init || unit->storage == MTLM_STORE_GRAD
           || unit->microbatches > 0;
}

static void create_cargo(struct apply *apply, const struct mtlm_items *items)
{
    const struct mtlm_offloaded *o = &apply->program->offloaded;
    int n = 0;

    apply->first_cargo = mtlm_calloc(o->n_units, sizeof(*apply->first_cargo));
    for (int u = 0; u < o->n_units; u++) {
        apply->first_cargo[u] = n;
        n += o->unit[u].microbatches > 0 ? o->unit[u].microbatches : 1;
    }
    apply->cargo = mtlm_calloc(n, sizeof(*apply->cargo));
    for (int u = 0; u < o->n_units; u++) {
        const int end = u + 1 < o->n_units ? apply->first_cargo[u + 1] : n;

        for (int i = apply->first_cargo[u]; i < end; i++)
            apply->cargo[i] = (struct cargo){
                is_empty(apply->program, items, &o->unit[u]), -1};
    }
}

static void find_uses(struct apply *apply)
{
    const struct mtlm_list *all = &apply->program->graph->all;
    int room = 0, n = 0;

    for (int i = 0; i < all->n; i++)
        room += mtlm_node_n_uses(all->node[i]);
    apply->use = mtlm_calloc(room, sizeof(*apply->use));
    apply->first_use = mtlm_calloc(all->n + 1, sizeof(*apply->first_use));
    for (int i = 0; i < all->n; i++) {
        const struct mtlm_node *node = all->node[i];

        for (int k = 0; k < mtlm_node_n_uses(node); k++) {
            const struct mtlm_use use = mtlm_node_use(node, k);
            const struct mtlm_unit *unit = unit_of(apply->program, use.tensor);

            if (unit)
                apply->use[n++] = (struct unit_use){unit, use.access != MTLM_R};
        }
        apply->first_use[i + 1] = n;
    }
}

/* Notes the last item that needs each input. */
static void find_last(struct apply *apply, const struct mtlm_items *items)
{
    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];
        const int *first = &apply->first_use[item->node->id];

        for (int k = first[0]; k < first[1]; k++) {
            const struct mtlm_unit *unit = apply->use[k].unit;
            const struct holding need = need_of(apply, unit, item);

            if (unit->microbatches > 0)
                cargo_of(apply, &need)->last = i;
        }
    }
}

static struct apply begin(struct mtlm_program *program,
                          const struct mtlm_items *items, bool counts)
{
    const struct mtlm_offloaded *o = &program->offloaded;
    struct apply apply = {.program = program,
                          .counts = counts,
                          .slot = mtlm_calloc(o->n_slots, sizeof(*apply.slot)),
                          .node =
                              mtlm_calloc((size_t) o->n_units * PHASES * MOVES,
                                          sizeof(*apply.node))};

    for (int s = 0; s < o->n_slots; s++)
        apply.slot[s].unit = -1;
    find_uses(&apply);
    create_cargo(&apply, items);
    find_last(&apply, items);
    return apply;
}

static void end(struct apply *apply)
{
    mtlm_list_free(&apply->list);
    free(apply->use);
    free(apply->first_use);
    free(apply->slot);
    free(apply->cargo);
    free(apply->first_cargo);
    free(apply->node);
}

/* Goes through the items, which are not empty. */
static void go_through(struct apply *apply, const struct mtlm_items *items)
{
    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];

        if (item->node->call.kind == MTLM_OP_CONTROL) {
            store_all(apply, item);
            apply->stepping = true;
        }
        bring_units(apply, item, i);
        if (!apply->counts)
            mtlm_items_append(&apply->out, *item);
    }
    store_all(apply, &items->item[items->n - 1]);
}

struct mtlm_offload_bytes mtlm_offload_items_apply(struct mtlm_program *program,
                                                   struct mtlm_items *items)
{
    struct apply apply;

    if (program->offloaded.n_units == 0 || items->n == 0)
        return (struct mtlm_offload_bytes){0};
    apply = begin(program, items, false);
    go_through(&apply, items);
    mtlm_items_free(items);
    *items = apply.out;
    end(&apply);
    return apply.bytes;
}

struct mtlm_offload_bytes mtlm_offload_items_count(
    struct mtlm_program *program, const struct mtlm_items *items)
{
    struct apply apply;

    if (program->offloaded.n_units == 0 || items->n == 0)
        return (struct mtlm_offload_bytes){0};
    apply = begin(program, items, true);
    go_through(&apply, items);
    end(&apply);
    return apply.bytes;
}
