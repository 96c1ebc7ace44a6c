/* Adds nodes that pack weights, and makes products read the packed weights. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "codelets/bf16_product.h"
#include "codelets/pack.h"
#include "graph/build/packing.h"
#include "graph/build/version.h"
#include "runtime/base/memory.h"

/* A weight that products of one kind read in a virtual stage. */
struct weight {
    struct mtlm_tensor *tensor;
    union mtlm_attr attr;    /* of the pack node */
    struct mtlm_list reader; /* nodes of a microbatch */
    bool fits;               /* all readers can read one packed weight */
};

struct weights {
    struct weight *weight; /* [n] in order of first use */
    int n;
    int *place; /* [2 * tensor id + gradient] index into weight + 1; 0: none */
};

const char *mtlm_packing_hindrance(const struct mtlm_program_config *config)
{
    if (config->value != MTLM_BF16)
        return "weights are not bf16 (--bf16)";
    if (config->eval_only)
        return "nothing is trained";
    if (mtlm_version_count(config) > 1)
        return "weights have two versions (--weight-staleness 1)";
    if (config->offload != MTLM_OFFLOAD_NONE)
        return "state is offloaded (--offload)";
    if (!mtlm_bf16_product_here())
        return "bf16 products are in fp32 on this machine";
    return NULL;
}

static struct weight *find_weight(struct weights *all,
                                  const struct mtlm_node *node, bool gradient)
{
    struct mtlm_tensor *tensor = node->operand[PACK_READER_WEIGHT];
    int *place = &all->place[2 * mtlm_tensor_owner(tensor)->id + gradient];

    if (*place)
        return &all->weight[*place - 1];
    all->weight = mtlm_realloc(all->weight, all->n + 1, sizeof(*all->weight));
    all->weight[all->n] =
        (struct weight){.tensor = tensor,
                        .attr.pack = {.gradient = gradient,
                                      .rows = mtlm_shape_rows(
                                          &node->call.shape[PACK_READER_X])},
                        .fits = tensor->storage == MTLM_STORE_PARAM};
    *place = ++all->n;
    return &all->weight[all->n - 1];
}

static void note_readers(struct weights *all, const struct mtlm_list *list)
{
    for (int i = 0; i < list->n; i++) {
        struct mtlm_node *node = list->node[i];
        const enum mtlm_pack reads = mtlm_pack_reads(node->call.kind);
        struct weight *weight;

        if (reads == MTLM_PACK_NOTHING)
            continue;
        weight = find_weight(all, node, reads == MTLM_PACK_GRADIENT);
        weight->fits =
            weight->fits && mtlm_pack_fits(&node->call, &weight->attr);
        mtlm_list_append(&weight->reader, node);
    }
}

/* Returns the rows of all readers from which on a packed weight saves time. */
static int64_t enough_rows(bool gradient)
{
    if (mtlm_bf16_product_by_amx())
        return gradient ? MTLM_PACKING_AMX_GRADIENT : MTLM_PACKING_AMX_FORWARD;
    return gradient ? MTLM_PACKING_GRADIENT : MTLM_PACKING_FORWARD;
}

/* Returns whether packing saves time, or is asked for. */
static bool pays(const struct mtlm_program_config *config,
                 const struct weight *weight)
{
    const int64_t enough = enough_rows(weight->attr.pack.gradient);
    const int64_t readers = weight->reader.n * config->microbatches;

    return config->packing == MTLM_PACKING_YES
           || (readers > 1 && readers * weight->attr.pack.rows >= enough);
}

static void pack_weight(struct mtlm_graph *graph, const struct weight *weight)
{
    struct mtlm_tensor *plain = weight->tensor, *packed;
    char name[200];

    snprintf(name, sizeof(name), "%s.packed%s", plain->name,
             weight->attr.pack.gradient ? "_gradient" : "");
    packed = mtlm_graph_tensor(graph, MTLM_STORE_PARAM, name, plain->shape,
                               plain->dtype);
    mtlm_graph_call(graph, MTLM_OP_PACK, &weight->attr,
                    (struct mtlm_tensor *[]){plain, packed});
    for (int i = 0; i < weight->reader.n; i++) {
        struct mtlm_node *node = weight->reader.node[i];

        node->operand[PACK_READER_WEIGHT] = packed;
        node->call.packed = true;
    }
}

static void pack_stage(struct mtlm_program *program, struct mtlm_stage *stage)
{
    struct mtlm_graph *graph = program->graph;
    struct weights all = {
        .place = mtlm_calloc(2 * graph->n_tensors, sizeof(*all.place))};

    note_readers(&all, &stage->forward);
    note_readers(&all, &stage->backward);
    note_readers(&all, &stage->weight);
    mtlm_graph_at(graph, &stage->pack, MTLM_PHASE_OPTIMIZER, stage->stage, -1);
    for (int i = 0; i < all.n; i++) {
        if (all.weight[i].fits && pays(&program->config, &all.weight[i]))
            pack_weight(graph, &all.weight[i]);
        mtlm_list_free(&all.weight[i].reader);
    }
    free(all.weight);
    free(all.place);
}

void mtlm_packing_apply(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;

    if (config->packing == MTLM_PACKING_NO || mtlm_packing_hindrance(config))
        return;
    for (int c = 0; c < config->layout.virtual_stages; c++)
        pack_stage(program, &program->stage[c]);
}

bool mtlm_packing_is_used(const struct mtlm_program *program)
{
    for (int c = 0; c < program->config.layout.virtual_stages; c++)
        if (program->stage[c].pack.n > 0)
            return true;
    return false;
}
