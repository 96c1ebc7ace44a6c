/* Gives inputs of recomputed layers slots in turn, and pieces on the disk. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/offload.h"
#include "graph/build/offload_frontier.h"
#include "graph/build/offload_inputs.h"
#include "graph/build/offload_units.h"
#include "graph/build/stage.h"
#include "runtime/base/memory.h"
#include "runtime/file/offload_file.h"

bool mtlm_offload_inputs_allowed(const struct mtlm_program_config *config)
{
    return config->offload == MTLM_OFFLOAD_ALL
           && config->offload_amount.inputs > 0 && !config->eval_only
           && config->recompute.granularity == MTLM_RECOMPUTE_FULL
           && !mtlm_program_is_ordered(config);
}

/* ---- inputs ---- */

/* A part of a layer's input. */
struct input {
    struct mtlm_tensor *tensor;
    int place; /* of the layer among those of its stage, 0: the stage's input */
};

/* Inputs of one part, in the order of layers. */
struct inputs {
    struct input *input;
    int n;
};

static int by_id(const void *a, const void *b)
{
    const struct mtlm_tensor *const *x = a, *const *y = b;

    return (*x)->id - (*y)->id;
}

/* Returns whether a recomputed node finds the tensor as the forward pass left
 * it: a value of a microbatch, no length of a sample. */
static bool is_input(const struct mtlm_program *program,
                     const struct mtlm_tensor *tensor)
{
    return tensor->storage == MTLM_STORE_ACTIVATION
           && tensor->first_use == MTLM_PHASE_FORWARD && !tensor->pool
           && tensor->dtype == program->config.value;
}

/* Sets *tensor to the inputs of a chunk, with all parts of a layer together,
 * and returns their number.  The caller frees the array. */
static int find_tensors(const struct mtlm_program *program, int chunk,
                        struct mtlm_tensor ***tensor)
{
    const struct mtlm_list *list = &program->stage[chunk].backward;
    bool *found = mtlm_calloc(program->graph->n_tensors, sizeof(*found));
    int n = 0;

    *tensor = NULL;
    for (int i = 0; i < list->n; i++)
        for (int k = 0;
             list->node[i]->recomputes && k < mtlm_node_n_uses(list->node[i]);
             k++) {
            struct mtlm_tensor *t =
                mtlm_tensor_owner(mtlm_node_use(list->node[i], k).tensor);

            if (found[t->id] || !is_input(program, t))
                continue;
            found[t->id] = true;
            *tensor = mtlm_realloc(*tensor, n + 1, sizeof(**tensor));
            (*tensor)[n++] = t;
        }
    if (n > 0)
        qsort(*tensor, n, sizeof(**tensor), by_id);
    free(found);
    return n;
}

static void add_inputs(struct inputs *part, int parts,
                       struct mtlm_tensor *const *tensor, int n)
{
    for (int i = 0; i < n; i++) {
        struct inputs *p = &part[i % parts];

        p->input = mtlm_realloc(p->input, p->n + 1, sizeof(*p->input));
        p->input[p->n++] = (struct input){tensor[i], i / parts};
    }
}

/* Leaves `most` of the inputs, spread evenly. */
static void keep_some(struct inputs *inputs, int most)
{
    const int all = inputs->n;

    most = most < all ? most : all;
    inputs->n = 0;
    for (int i = 0; i < all; i++)
        if ((int64_t) (i + 1) * most / all != (int64_t) i * most / all)
            inputs->input[inputs->n++] = inputs->input[i];
}

/* ---- units ---- */

/* Places the ring in a block, with slots as a disk wants them. */
static void place_ring(struct mtlm_program *program, struct mtlm_tensor *ring)
{
    const int block = mtlm_graph_block(program->graph);

    ring->stride = mtlm_offload_file_padded((int64_t) mtlm_tensor_bytes(ring));
    mtlm_graph_place(program->graph, ring, block, 0);
    mtlm_graph_widen(program->graph, block, ring->slots * ring->stride);
}

static void add_unit(struct mtlm_program *program, struct mtlm_tensor *tensor)
{
    const int64_t bytes = (int64_t) mtlm_tensor_bytes(tensor);
    const int microbatches = (int) program->config.microbatches;
    struct mtlm_unit *unit =
        mtlm_offload_units_add(program, MTLM_STORE_ACTIVATION, -1, 0);

    mtlm_offload_units_add_piece(program, unit, bytes);
    for (int i = 1; i < microbatches; i++)
        mtlm_offload_units_append_piece(program, bytes);
    unit->microbatches = microbatches;
    unit->number_of_slot = program->offloaded.n_slots;
    unit->slot = tensor;
    tensor->unit = program->offloaded.n_units - 1;
}

/* Makes units of the inputs, which have joined the ring. */
static void add_units(struct mtlm_program *program, struct mtlm_tensor *ring,
                      const struct inputs *inputs)
{
    for (int i = 0; i < inputs->n; i++)
        if (inputs->input[i].tensor->pool == ring)
            add_unit(program, inputs->input[i].tensor);
    place_ring(program, ring);
    program->offloaded.n_slots += ring->slots;
}

/* ---- rings ---- */

/* Returns whether n inputs of each microbatch of a group fill so many slots
 * more than once. */
static bool fill(const struct mtlm_program *program, int n, int slots)
{
    return (int64_t) n * mtlm_offload_group(&program->config) > slots;
}

/* Returns the number of inputs of stages; else that of further layers. */
static int count_inputs(const struct inputs *inputs, bool of_stages)
{
    int n = 0;

    for (int i = 0; i < inputs->n; i++)
        n += (inputs->input[i].place == 0) == of_stages;
    return n;
}

static void share_between(struct mtlm_program *program,
                          const struct inputs *inputs)
{
    struct mtlm_offload_frontier frontier = {0};

    if (!fill(program, count_inputs(inputs, true),
              mtlm_offload_frontier_slots(&program->config)))
        return;
    for (int i = 0; i < inputs->n; i++)
        if (inputs->input[i].place == 0)
            mtlm_offload_frontier_join(program, &frontier,
                                       inputs->input[i].tensor);
    add_units(program, frontier.ring, inputs);
}

/* Returns the ring of inputs that a stage both writes and reads. */
static struct mtlm_tensor *create_ring_within(struct mtlm_program *program,
                                              const struct mtlm_tensor *like)
{
    struct mtlm_tensor *ring;

    program->graph->stage = like->stage;
    program->graph->phase = MTLM_PHASE_FORWARD;
    ring = mtlm_graph_tensor(program->graph, MTLM_STORE_ACTIVATION,
                             "ring within a stage", like->shape, like->dtype);
    ring->slots = 1 + mtlm_offload_frontier_spare(&program->config);
    ring->last_use = MTLM_PHASE_BACKWARD;
    return ring;
}

static void share_within(struct mtlm_program *program,
                         const struct inputs *inputs)
{
    const int slots = 1 + mtlm_offload_frontier_spare(&program->config);
    struct mtlm_tensor *ring = NULL;
    int places = 0;

    if (!fill(program, count_inputs(inputs, false), slots))
        return;
    for (int i = 0; i < inputs->n; i++)
        places =
            inputs->input[i].place > places ? inputs->input[i].place : places;
    for (int i = 0; i < inputs->n; i++) {
        const struct input *input = &inputs->input[i];

        if (input->place == 0)
            continue;
        if (!ring)
            ring = create_ring_within(program, input->tensor);
        input->tensor->pool = ring;
        input->tensor->pool_size = places;
        input->tensor->pool_index = input->place - 1;
    }
    add_units(program, ring, inputs);
}

void mtlm_offload_inputs_create(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const int parts = mtlm_stage_parts(config);
    struct inputs *part = mtlm_calloc(parts, sizeof(*part));

    for (int c = 0; c < config->layout.virtual_stages; c++) {
        struct mtlm_tensor **tensor;
        const int n = find_tensors(program, c, &tensor);

        add_inputs(part, parts, tensor, n);
        free(tensor);
    }
    for (int k = 0; k < parts; k++) {
        keep_some(&part[k], config->offload_amount.inputs);
        share_between(program, &part[k]);
        share_within(program, &part[k]);
        free(part[k].input);
    }
    free(part);
}
