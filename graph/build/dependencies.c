/* Follows StarPU's sequential consistency through the submission order of
 * nodes. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/dependencies.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"

enum { NONE = -1 };

/* The last uses of a slot. */
struct slot {
    int64_t writer, *reader;
    int n; /* readers since the last writer */
    size_t capacity;
    bool fixed;
};

struct mtlm_dependencies {
    struct slot *slot; /* [first[n_tensors]] */
    int *first;        /* [n_tensors + 1]: number of each tensor's slot 0 */
    int n_tensors;
    int64_t *found; /* [n] predecessors of the node added last */
    int n;
    size_t capacity;
};

struct mtlm_dependencies *mtlm_dependencies_create(
    const struct mtlm_graph *graph)
{
    struct mtlm_dependencies *d = mtlm_calloc(1, sizeof(*d));

    d->n_tensors = graph->n_tensors;
    d->first = mtlm_calloc(graph->n_tensors + 1, sizeof(*d->first));
    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];

        d->first[i + 1] =
            d->first[i] + (mtlm_tensor_is_owner(t) ? t->slots : 0);
    }
    d->slot = mtlm_calloc(mtlm_dependencies_slots(d), sizeof(*d->slot));
    for (int i = 0; i < mtlm_dependencies_slots(d); i++)
        d->slot[i].writer = NONE;
    return d;
}

void mtlm_dependencies_destroy(struct mtlm_dependencies *d)
{
    if (!d)
        return;
    for (int i = 0; i < mtlm_dependencies_slots(d); i++)
        free(d->slot[i].reader);
    free(d->slot);
    free(d->first);
    free(d->found);
    free(d);
}

/* ---- predecessors of the node added last ---- */

/* Shorter lists are sorted by insertion. */
enum { LONG_LIST = 32 };

static void add_predecessor(struct mtlm_dependencies *d, int64_t before,
                            int64_t task)
{
    if (before == NONE || before == task)
        return;
    d->found =
        mtlm_make_room(d->found, &d->capacity, d->n + 1, sizeof(*d->found));
    d->found[d->n++] = before;
}

static void insert_each(int64_t *found, int n)
{
    for (int i = 1; i < n; i++) {
        const int64_t task = found[i];
        int at = i;

        for (; at > 0 && found[at - 1] > task; at--)
            found[at] = found[at - 1];
        found[at] = task;
    }
}

/* Sorts the predecessors, each once.  An optimizer node has as many as there
 * are microbatches, for each of its parameters. */
static void sort_predecessors(struct mtlm_dependencies *d)
{
    int n = 0;

    if (d->n > LONG_LIST)
        qsort(d->found, d->n, sizeof(*d->found), mtlm_compare_int64);
    else
        insert_each(d->found, d->n);
    for (int i = 0; i < d->n; i++)
        if (n == 0 || d->found[n - 1] != d->found[i])
            d->found[n++] = d->found[i];
    d->n = n;
}

/* ---- slots ---- */

static void read_slot(struct mtlm_dependencies *d, struct slot *slot,
                      int64_t task)
{
    if (slot->fixed)
        return;
    add_predecessor(d, slot->writer, task);
    slot->reader = mtlm_make_room(slot->reader, &slot->capacity, slot->n + 1,
                                  sizeof(*slot->reader));
    slot->reader[slot->n++] = task;
}

static void write_slot(struct mtlm_dependencies *d, struct slot *slot,
                       int64_t task)
{
    for (int i = 0; i < slot->n; i++)
        add_predecessor(d, slot->reader[i], task);
    if (slot->n == 0)
        add_predecessor(d, slot->writer, task);
    slot->n = 0;
    slot->writer = task;
}

void mtlm_dependencies_fix(struct mtlm_dependencies *d,
                           const struct mtlm_tensor *tensor)
{
    for (int i = d->first[tensor->id]; i < d->first[tensor->id + 1]; i++)
        d->slot[i].fixed = true;
}

struct mtlm_predecessors mtlm_dependencies_add(struct mtlm_dependencies *d,
                                               const struct mtlm_node *node,
                                               const struct mtlm_submission *at,
                                               int64_t task)
{
    d->n = 0;
    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use u = mtlm_node_use(node, i);
        const struct mtlm_slot found =
            mtlm_tensor_slot(u.tensor, mtlm_tensor_use(u.tensor, at));
        struct slot *slot = &d->slot[d->first[found.owner->id] + found.slot];

        if (u.access == MTLM_R)
            read_slot(d, slot, task);
        else
            write_slot(d, slot, task);
    }
    sort_predecessors(d);
    return (struct mtlm_predecessors){d->found, d->n};
}

int mtlm_dependencies_first_slot(const struct mtlm_dependencies *d,
                                 const struct mtlm_tensor *tensor)
{
    return d->first[tensor->id];
}

int mtlm_dependencies_slots(const struct mtlm_dependencies *d)
{
    return d->first[d->n_tensors];
}
