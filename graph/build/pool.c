/* Finds activations that can share a ring and assigns their places in the
 * ring. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/offload.h"
#include "graph/build/pool.h"
#include "graph/build/program.h"

/* The uses of a tensor.  A block: consecutive nodes of one layer in a list.
 */
struct life {
    const struct mtlm_list *list; /* NULL: no use yet */
    int begin, end;
    int layer;      /* of its first use */
    bool elsewhere; /* used in another list too, or by a message */
    bool recomputed; /* written by a node that recomputes */
};

/* A ring to share: in a microbatch, each member occupies one place. */
struct ring {
    const struct mtlm_tensor *like;
    int *end; /* [n_places]: block of the last use so far */
    int n_places;
    struct mtlm_tensor **member;
    int *place; /* [n_members] */
    int n_members;
};

struct sharing {
    struct mtlm_program *program;
    struct life *life; /* [tensor id] */
    bool *recomputed;  /* [layer]: recomputed as a whole */
    struct ring *ring;
    int n_rings;
};

/* ---- lives ---- */

static void note_use(struct sharing *sharing, const struct mtlm_list *list,
                     const struct mtlm_node *node, int block,
                     struct mtlm_use use)
{
    struct life *life = &sharing->life[mtlm_tensor_owner(use.tensor)->id];

    if (!life->list) {
        life->list = list;
        life->begin = block;
        life->layer = node->layer;
    }
    life->end = block;
    life->recomputed |= node->recomputes && use.access == MTLM_W;
    life->elsewhere |= life->list != list
                       || mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_P2P;
}

static void note_list(struct sharing *sharing, const struct mtlm_list *list)
{
    int block = 0;

    for (int i = 0; i < list->n; i++) {
        const struct mtlm_node *node = list->node[i];

        block += i > 0 && node->layer != list->node[i - 1]->layer;
        if (node->recomputes && node->layer >= 0
            && sharing->program->config.recompute.granularity
                   == MTLM_RECOMPUTE_FULL)
            sharing->recomputed[node->layer] = true;
        for (int k = 0; k < mtlm_node_n_uses(node); k++)
            note_use(sharing, list, node, block, mtlm_node_use(node, k));
    }
}

static void note_lives(struct sharing *sharing)
{
    struct mtlm_program *program = sharing->program;

    for (int c = 0; c < program->config.layout.virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];

        note_list(sharing, &stage->forward);
        note_list(sharing, &stage->backward);
        note_list(sharing, &stage->weight);
        note_list(sharing, &stage->eval);
        note_list(sharing, &stage->prompt);
        note_list(sharing, &stage->step);
    }
    note_list(sharing, &program->tail_list);
    note_list(sharing, &program->decode.prompt_end_list);
    note_list(sharing, &program->decode.step_end_list);
}

/* Returns whether the tensor may share a ring: it lives within one phase, is
 * recomputed, belongs to a layer that is recomputed as a whole, or is a
 * gradient of a fused schedule.  Weight gradients of such a layer, or schedule,
 * cannot wait beyond the next layers. */
static bool may_share(const struct sharing *sharing,
                      const struct mtlm_tensor *tensor)
{
    const struct life *life = &sharing->life[tensor->id];

    if (tensor->storage != MTLM_STORE_ACTIVATION || tensor->dtype == MTLM_I32
        || !mtlm_tensor_is_owner(tensor) || tensor->received || !life->list
        || life->elsewhere)
        return false;
    return tensor->first_use == tensor->last_use || life->recomputed
           || (tensor->first_use == MTLM_PHASE_BACKWARD
               && sharing->program->config.schedule->fused)
           || (life->layer >= 0 && sharing->recomputed[life->layer]);
}

/* ---- rings ---- */

static struct ring *ring_for(struct sharing *sharing,
                             const struct mtlm_tensor *tensor)
{
    for (int i = 0; i < sharing->n_rings; i++)
        if (sharing->ring[i].like->dtype == tensor->dtype
            && mtlm_shape_equal(&sharing->ring[i].like->shape, &tensor->shape))
            return &sharing->ring[i];
    sharing->ring = mtlm_realloc(sharing->ring, sharing->n_rings + 1,
                                 sizeof(*sharing->ring));
    sharing->ring[sharing->n_rings] = (struct ring){.like = tensor};
    return &sharing->ring[sharing->n_rings++];
}

/* Takes the place that has been free for longest, at least for a whole layer;
 * else a new place. */
static int take_place(struct ring *ring, const struct life *life)
{
    int best = -1;

    for (int i = 0; i < ring->n_places; i++)
        if (ring->end[i] + 1 < life->begin
            && (best < 0 || ring->end[i] < ring->end[best]))
            best = i;
    if (best < 0) {
        best = ring->n_places++;
        ring->end = mtlm_realloc(ring->end, ring->n_places, sizeof(*ring->end));
    }
    ring->end[best] = life->end;
    return best;
}

static void join_ring(struct sharing *sharing, struct mtlm_tensor *tensor)
{
    struct ring *ring = ring_for(sharing, tensor);
    const int n = ring->n_members++;

    ring->member = mtlm_realloc(ring->member, n + 1, sizeof(*ring->member));
    ring->place = mtlm_realloc(ring->place, n + 1, sizeof(*ring->place));
    ring->member[n] = tensor;
    ring->place[n] = take_place(ring, &sharing->life[tensor->id]);
}

/* Puts the tensors of list that may share into rings, in order of first use. */
static void join_list(struct sharing *sharing, const struct mtlm_list *list)
{
    bool *joined =
        mtlm_calloc(sharing->program->graph->n_tensors, sizeof(*joined));

    for (int i = 0; i < sharing->n_rings; i++)
        for (int k = 0; k < sharing->ring[i].n_places; k++)
            sharing->ring[i].end[k] = -2;
    for (int i = 0; i < list->n; i++)
        for (int k = 0; k < mtlm_node_n_uses(list->node[i]); k++) {
            struct mtlm_tensor *tensor =
                mtlm_tensor_owner(mtlm_node_use(list->node[i], k).tensor);

            if (!joined[tensor->id] && may_share(sharing, tensor)) {
                joined[tensor->id] = true;
                join_ring(sharing, tensor);
            }
        }
    free(joined);
}

/* Returns the number of microbatches that have slots of their own. */
static int count_lanes(const struct mtlm_layout *layout)
{
    return layout->workers > 1 ? layout->workers : layout->tp > 1 ? 2 : 1;
}

static void make_ring(struct sharing *sharing, struct ring *ring)
{
    struct mtlm_graph *graph = sharing->program->graph;
    const int slots =
        count_lanes(&sharing->program->config.layout) * ring->n_places;
    struct mtlm_tensor *shared;
    int own = 0;

    for (int i = 0; i < ring->n_members; i++)
        own += ring->member[i]->slots;
    if (slots < own) {
        graph->stage = ring->like->stage;
        graph->phase = ring->like->first_use;
        shared = mtlm_graph_tensor(graph, MTLM_STORE_ACTIVATION, "shared ring",
                                   ring->like->shape, ring->like->dtype);
        shared->slots = slots;
        shared->last_use = ring->like->last_use;
        for (int i = 0; i < ring->n_members; i++) {
            ring->member[i]->pool = shared;
            ring->member[i]->pool_index = ring->place[i];
            ring->member[i]->pool_size = ring->n_places;
        }
    }
    free(ring->end);
    free(ring->member);
    free(ring->place);
}

static void make_rings(struct sharing *sharing)
{
    for (int i = 0; i < sharing->n_rings; i++)
        make_ring(sharing, &sharing->ring[i]);
    free(sharing->ring);
    sharing->ring = NULL;
    sharing->n_rings = 0;
}

/* Lists of a virtual stage whose tensors may share rings. */
struct lists {
    const struct mtlm_list *list[2]; /* NULL: one only */
};
enum { MOST_LISTS = 4 };

/* Writes the lists of a stage, MOST_LISTS at most; returns their number. */
static int find_lists(const struct mtlm_program_config *config,
                      const struct mtlm_stage *stage, struct lists *lists)
{
    const bool shares = config->schedule->fused
                        || config->recompute.granularity != MTLM_RECOMPUTE_NONE
                        || mtlm_program_splits_rows(config);

    lists[0] = (struct lists){{&stage->prompt, &stage->step}};
    if (!shares) {
        lists[1] = (struct lists){{&stage->eval}};
        return 2;
    }
    lists[1] = (struct lists){{&stage->forward, &stage->eval}};
    lists[2] = (struct lists){{&stage->backward}};
    lists[3] = (struct lists){{&stage->weight}};
    return 4;
}

static void join_lists(struct sharing *sharing, const struct lists *lists)
{
    for (int k = 0; k < 2; k++)
        if (lists->list[k])
            join_list(sharing, lists->list[k]);
}

/* Makes each stage share rings within itself; together: all stages share.  A
 * microbatch is in one stage at a time where a rank goes through its stages one
 * after another. */
static void share_rings(struct sharing *sharing, bool together)
{
    const struct mtlm_program *program = sharing->program;
    const int v = program->config.layout.virtual_stages;
    struct lists lists[MOST_LISTS];
    const int n = find_lists(&program->config, &program->stage[0], lists);

    for (int k = 0; k < n; k++) {
        for (int c = 0; c < v; c++) {
            find_lists(&program->config, &program->stage[c], lists);
            join_lists(sharing, &lists[k]);
            if (!together)
                make_rings(sharing);
        }
        make_rings(sharing);
    }
}

void mtlm_pool_apply(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    struct sharing sharing = {.program = program};

    sharing.life =
        mtlm_calloc(program->graph->n_tensors, sizeof(*sharing.life));
    sharing.recomputed =
        mtlm_calloc(config->model.num_layers, sizeof(*sharing.recomputed));
    note_lives(&sharing);
    share_rings(&sharing, mtlm_offload_streams(config));
    free(sharing.life);
    free(sharing.recomputed);
}

enum mtlm_phase mtlm_pool_phase(const struct mtlm_node *node)
{
    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        struct mtlm_tensor *t =
            mtlm_tensor_owner(mtlm_node_use(node, i).tensor);

        if (t->pool && !t->slot_of && t->first_use == MTLM_PHASE_BACKWARD)
            return MTLM_PHASE_BACKWARD;
    }
    return mtlm_node_pass(node);
}
