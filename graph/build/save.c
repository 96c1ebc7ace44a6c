/* Builds the nodes that copy this rank's share of a checkpoint. */

#include "config.h"

#include <stdio.h>

#include "graph/build/bucket.h"
#include "graph/build/offload.h"
#include "graph/build/save.h"

static struct mtlm_tensor *add_copy(struct mtlm_program *program,
                                    struct mtlm_parameter *p,
                                    enum mtlm_saved what,
                                    const struct mtlm_tensor *tensor)
{
    char name[200];

    snprintf(name, sizeof(name), "%s.saved", tensor->name);
    mtlm_graph_at(program->graph, &program->save_list, MTLM_PHASE_SAVE,
                  p->weight->stage, (int) p->layer);
    return p->saved[what] =
               mtlm_graph_tensor(program->graph, MTLM_STORE_SAVED, name,
                                 tensor->shape, tensor->dtype);
}

/* Gives a copy the place of the tensor in the file. */
static void place_copy(struct mtlm_tensor *copy,
                       const struct mtlm_tensor *tensor)
{
    copy->piece = tensor->piece;
    copy->piece_offset = tensor->piece_offset;
}

/* Copies a tensor in memory.  Copies of what is on the disk follow later, unit
 * by unit; here they get their piece of the unit, counted from 0. */
static void append_copy(struct mtlm_program *program, struct mtlm_parameter *p,
                        enum mtlm_saved what, struct mtlm_tensor *tensor)
{
    struct mtlm_tensor *given[2] = {tensor, add_copy(program, p, what, tensor)};

    if (tensor->piece < 0)
        mtlm_graph_call(program->graph, MTLM_OP_SAVE, NULL, given);
    else
        place_copy(given[1], tensor);
}

/* Returns whether the rank saves anything that the unit holds; sets the pieces
 * of these copies, which follow the pieces of the file so far. */
static bool find_copies(const struct mtlm_program *program,
                        const struct mtlm_unit *unit)
{
    bool any = false;

    for (int i = unit->first; i < unit->first + unit->n; i++) {
        const struct mtlm_parameter *p = mtlm_offload_param(program, unit, i);

        for (int s = 0; s < MTLM_SAVED_COUNT; s++)
            if (p->saved[s] && p->saved[s]->piece >= unit->piece
                && p->saved[s]->piece < unit->piece + unit->pieces) {
                p->saved[s]->piece += program->offloaded.n_pieces - unit->piece;
                any = true;
            }
    }
    return any;
}

static void copy_units(struct mtlm_program *program)
{
    mtlm_graph_at(program->graph, &program->save_list, MTLM_PHASE_SAVE,
                  mtlm_layout_stage(&program->config.layout, 0), -1);
    for (int u = 0; u < program->offloaded.n_units; u++)
        if (find_copies(program, &program->offloaded.unit[u]))
            mtlm_offload_build_copy(program, &program->offloaded.unit[u]);
}

void mtlm_save_build(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const struct mtlm_layout *l = &config->layout;
    const bool pieces = mtlm_buckets_sharded(config); /* moments are cut */

    for (int i = 0; i < program->n_params; i++) {
        struct mtlm_parameter *p = &program->param[i];
        const bool mine = p->number % l->dp == l->dp_rank;

        if (!p->counted)
            continue; /* another rank has the same */
        if (p->weight->dtype == MTLM_REAL && mine)
            append_copy(program, p, MTLM_SAVED_VALUE, p->weight);
        if (p->master && (mine || pieces))
            append_copy(program, p, MTLM_SAVED_VALUE, p->master);
        if (config->save == MTLM_SAVE_ALL && p->m && (mine || pieces)) {
            append_copy(program, p, MTLM_SAVED_M, p->m);
            append_copy(program, p, MTLM_SAVED_V, p->v);
        }
        if (config->save == MTLM_SAVE_ALL && p->before && mine)
            append_copy(program, p, MTLM_SAVED_BEFORE, p->before);
    }
    copy_units(program);
}
