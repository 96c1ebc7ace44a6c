#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/submit_data.h"
#include "graph/tensor_layer.h"
#include "runtime/arena.h"
#include "runtime/data.h"
#include "runtime/memory.h"

/* Blocks of the graph, then what orders nodes only or pretends to be more. */
static int n_arenas(const struct mtlm_run_data *data)
{
    return data->program->graph->n_blocks + 1;
}

/* Whether there is an element of the tensor only. */
static bool pretends(const struct mtlm_run_data *data,
                     const struct mtlm_tensor *tensor)
{
    return data->synthetic && mtlm_synthetic_pretends(tensor);
}

static struct mtlm_arena *control_arena(const struct mtlm_run_data *data)
{
    return &data->arena[data->program->graph->n_blocks];
}

/* Of a slot: what StarPU knows, and what it takes in an arena. */
static int64_t elems_of(const struct mtlm_run_data *data,
                        const struct mtlm_tensor *tensor)
{
    return pretends(data, tensor) ? 1 : mtlm_shape_elems(&tensor->shape);
}

static size_t bytes_of(const struct mtlm_run_data *data,
                       const struct mtlm_tensor *tensor)
{
    return pretends(data, tensor)
               ? mtlm_synthetic_bytes(&data->program->config.layout)
               : mtlm_tensor_bytes(tensor);
}

static void create_arenas(struct mtlm_run_data *data)
{
    const struct mtlm_graph *graph = data->program->graph;
    size_t control = 0;

    data->arena = mtlm_calloc(n_arenas(data), sizeof(*data->arena));
    for (int i = 0; i < graph->n_blocks; i++)
        mtlm_arena_create(&data->arena[i],
                          data->synthetic ? 0 : graph->block[i]);
    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];

        if ((t->storage == MTLM_STORE_CONTROL || pretends(data, t))
            && mtlm_tensor_is_owner(t))
            control += t->slots * mtlm_arena_padded(bytes_of(data, t));
    }
    mtlm_arena_create(control_arena(data), control);
}

/* The memory of the next slot, or NULL: StarPU takes some when it is
 * written. */
static void *memory_of(struct mtlm_run_data *data,
                       const struct mtlm_tensor *tensor)
{
    if (tensor->storage == MTLM_STORE_CONTROL || pretends(data, tensor))
        return mtlm_arena_take(control_arena(data), bytes_of(data, tensor));
    if (tensor->block >= 0)
        return data->arena[tensor->block].memory + tensor->offset;
    return NULL;
}

/* StarPU's own traces say layer and slot of the data that a task writes. */
static void register_tensor(struct mtlm_run_data *data,
                            const struct mtlm_tensor *tensor, int layer)
{
    starpu_data_handle_t *slot;

    if (!mtlm_tensor_is_owner(tensor))
        return;
    slot = mtlm_calloc(tensor->slots, sizeof(*slot));
    for (int i = 0; i < tensor->slots; i++) {
        slot[i] =
            mtlm_data_register(memory_of(data, tensor), elems_of(data, tensor),
                               tensor->dtype, tensor->name);
        starpu_data_set_coordinates(slot[i], 2, layer, i);
    }
    data->handle[tensor->id] = slot;
}

void mtlm_run_data_create(struct mtlm_run_data *data,
                          const struct mtlm_program *program, bool synthetic)
{
    const struct mtlm_graph *graph = program->graph;
    int *layer;

    data->program = program;
    data->synthetic = synthetic;
    data->handle = mtlm_calloc(graph->n_tensors, sizeof(*data->handle));
    create_arenas(data);
    layer = mtlm_program_tensor_layers(program);
    for (int i = 0; i < graph->n_tensors; i++)
        register_tensor(data, graph->tensor[i], layer[i]);
    free(layer);
}

void mtlm_run_data_destroy(struct mtlm_run_data *data)
{
    const struct mtlm_graph *graph = data->program->graph;

    for (int i = 0; i < graph->n_tensors; i++) {
        if (!data->handle[i])
            continue;
        for (int s = 0; s < graph->tensor[i]->slots; s++)
            starpu_data_unregister_no_coherency(data->handle[i][s]);
        free(data->handle[i]);
    }
    for (int i = 0; i < n_arenas(data); i++)
        mtlm_arena_destroy(&data->arena[i]);
    free(data->arena);
    free(data->handle);
}

starpu_data_handle_t mtlm_run_data_handle(const struct mtlm_run_data *data,
                                          const struct mtlm_tensor *tensor,
                                          int64_t use)
{
    const struct mtlm_slot at = mtlm_tensor_slot(tensor, use);

    return data->handle[at.owner->id][at.slot];
}

void mtlm_run_data_read(const struct mtlm_run_data *data,
                        const struct mtlm_tensor *tensor, int64_t use,
                        void *memory, size_t bytes)
{
    starpu_data_handle_t handle = mtlm_run_data_handle(data, tensor, use);

    MTLM_CHECK_STARPU(
        starpu_data_acquire_on_node(handle, STARPU_MAIN_RAM, STARPU_R));
    memcpy(memory, starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM),
           bytes);
    starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
}
