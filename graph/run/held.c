/* The tensors of each unit, and their handles. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "graph/run/held.h"
#include "runtime/base/memory.h"

static void add_tensor(struct mtlm_held *held, const struct mtlm_tensor *tensor)
{
    held->tensor =
        mtlm_realloc(held->tensor, held->n + 1, sizeof(*held->tensor));
    held->tensor[held->n++] = tensor;
}

struct mtlm_held *mtlm_held_create(const struct mtlm_run_data *data)
{
    const struct mtlm_graph *graph = data->program->graph;
    const int n_units = data->program->offloaded.n_units;
    struct mtlm_held *held;

    if (n_units == 0 || data->home == STARPU_MAIN_RAM)
        return NULL;
    held = mtlm_calloc(n_units, sizeof(*held));
    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];

        if (t->unit >= 0 && data->handle[t->id])
            add_tensor(&held[t->unit], t);
    }
    return held;
}

void mtlm_held_destroy(struct mtlm_held *held,
                       const struct mtlm_program *program)
{
    for (int u = 0; held && u < program->offloaded.n_units; u++)
        free(held[u].tensor);
    free(held);
}

static bool has_piece(const struct mtlm_unit *unit, int piece)
{
    return (piece >= unit->piece && piece < unit->piece + unit->pieces)
           || (unit->saved_piece >= 0 && piece >= unit->saved_piece
               && piece < unit->saved_piece + unit->pieces);
}

struct mtlm_held mtlm_held_of(const struct mtlm_held *held,
                              const struct mtlm_program *program, int piece)
{
    int u = 0;

    if (!held)
        return (struct mtlm_held){0};
    while (u + 1 < program->offloaded.n_units
           && !has_piece(&program->offloaded.unit[u], piece))
        u++;
    assert(has_piece(&program->offloaded.unit[u], piece));
    return held[u];
}

starpu_data_handle_t *mtlm_held_handles(const struct mtlm_held *held,
                                        const struct mtlm_run_data *data,
                                        const struct mtlm_submission *at)
{
    starpu_data_handle_t *handle = mtlm_calloc(held->n, sizeof(*handle));

    for (int i = 0; i < held->n; i++)
        handle[i] = mtlm_run_data_handle(data, held->tensor[i], at);
    return handle;
}
