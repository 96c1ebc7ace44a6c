/* Registers a program's tensors with StarPU and places them in host or GPU
 * memory. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/build/tensor_layer.h"
#include "graph/build/version.h"
#include "graph/run/data.h"
#include "runtime/base/memory.h"
#include "runtime/machine/arena.h"
#include "runtime/machine/data.h"

/* Returns the number of arenas: one per block of the graph; one for control and
 * synthetic tensors, one for a GPU's rings, one for checkpoint copies. */
static int n_arenas(const struct mtlm_run_data *data)
{
    return data->program->graph->n_blocks + 3;
}

/* Returns whether only one element of the tensor exists. */
static bool is_synthetic(const struct mtlm_run_data *data,
                         const struct mtlm_tensor *tensor)
{
    return data->synthetic && mtlm_synthetic_pretends(tensor);
}

static struct mtlm_arena *control_arena(const struct mtlm_run_data *data)
{
    return &data->arena[data->program->graph->n_blocks];
}

/* Returns the elements of a slot that StarPU knows. */
static int64_t elems_of(const struct mtlm_run_data *data,
                        const struct mtlm_tensor *tensor)
{
    return is_synthetic(data, tensor) ? 1 : mtlm_tensor_elems(tensor);
}

/* Returns the bytes of a slot in an arena. */
static size_t bytes_of(const struct mtlm_run_data *data,
                       const struct mtlm_tensor *tensor)
{
    return is_synthetic(data, tensor)
               ? mtlm_synthetic_bytes(&data->program->config.layout)
               : mtlm_tensor_bytes(tensor);
}

static struct mtlm_arena *ring_arena(const struct mtlm_run_data *data)
{
    return &data->arena[data->program->graph->n_blocks + 1];
}

static struct mtlm_arena *saved_arena(const struct mtlm_run_data *data)
{
    return &data->arena[data->program->graph->n_blocks + 2];
}

static bool on_gpu(const struct mtlm_run_data *data)
{
    return data->home != STARPU_MAIN_RAM;
}

/* Returns whether the tensor's memory lies in the arena of control tensors. */
static bool in_control(const struct mtlm_run_data *data,
                       const struct mtlm_tensor *tensor)
{
    return tensor->storage == MTLM_STORE_CONTROL || is_synthetic(data, tensor);
}

static bool in_ring(const struct mtlm_run_data *data,
                    const struct mtlm_tensor *tensor)
{
    return on_gpu(data) && tensor->storage == MTLM_STORE_ACTIVATION
           && tensor->block < 0 && !data->host[tensor->id];
}

static bool *find_host_tensors(const struct mtlm_graph *graph)
{
    bool *host = mtlm_calloc(graph->n_tensors, sizeof(*host));

    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        if (mtlm_ops[node->call.kind]->op_class != MTLM_CLASS_HOST)
            continue;
        for (int k = 0; k < mtlm_node_n_uses(node); k++)
            host[mtlm_tensor_slot(mtlm_node_use(node, k).tensor, 0).owner->id] =
                true;
    }
    return host;
}

/* Without a GPU, an arena takes memory from malloc(). */
static void create_arena(const struct mtlm_run_data *data,
                         struct mtlm_arena *arena, size_t bytes)
{
    if (on_gpu(data))
        mtlm_arena_create_on(arena, bytes, data->home);
    else
        mtlm_arena_create(arena, bytes);
}

static void create_arenas(struct mtlm_run_data *data)
{
    const struct mtlm_graph *graph = data->program->graph;
    size_t control = 0, ring = 0, saved = 0;

    data->arena = mtlm_calloc(n_arenas(data), sizeof(*data->arena));
    for (int i = 0; i < graph->n_blocks; i++)
        create_arena(data, &data->arena[i],
                     data->synthetic ? 0 : graph->block[i]);
    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];
        const size_t bytes = t->slots * mtlm_arena_padded(bytes_of(data, t));

        if (!mtlm_tensor_is_owner(t) || mtlm_tensor_is_on_disk(t))
            continue;
        if (in_control(data, t))
            control += bytes;
        else if (in_ring(data, t))
            ring += bytes;
        else if (t->storage == MTLM_STORE_SAVED)
            saved += bytes;
    }
    create_arena(data, control_arena(data), control);
    create_arena(data, ring_arena(data), ring);
    if (on_gpu(data)) /* pinned: GPUs copy faster to pinned memory */
        mtlm_arena_create_on(saved_arena(data), saved, STARPU_MAIN_RAM);
    else
        mtlm_arena_create(saved_arena(data), saved);
}

/* Creates the host side of blocks that collectives carry. */
static void create_stages(struct mtlm_run_data *data)
{
    const struct mtlm_graph *graph = data->program->graph;
    bool *sent = mtlm_calloc(graph->n_blocks, sizeof(*sent));

    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        for (int k = 0; k < mtlm_node_n_uses(node); k++) {
            const struct mtlm_use use = mtlm_node_use(node, k);

            if (mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_COLLECTIVE
                && !use.control && use.tensor->block >= 0)
                sent[use.tensor->block] = true;
        }
    }
    for (int i = 0; i < graph->n_blocks; i++)
        if (sent[i])
            mtlm_arena_create_on(&data->stage[i], graph->block[i],
                                 STARPU_MAIN_RAM);
    free(sent);
}

/* Returns the memory of a slot; NULL: StarPU allocates the slot at its first
 * write.  Rings outside blocks take their slots in turn. */
static void *memory_of(struct mtlm_run_data *data,
                       const struct mtlm_tensor *tensor, int slot)
{
    if (in_control(data, tensor))
        return mtlm_arena_take(control_arena(data), bytes_of(data, tensor));
    if (tensor->storage == MTLM_STORE_SAVED)
        return mtlm_arena_take(saved_arena(data), bytes_of(data, tensor));
    if (tensor->block >= 0)
        return data->arena[tensor->block].memory + tensor->offset
               + slot * tensor->stride;
    return in_ring(data, tensor)
               ? mtlm_arena_take(ring_arena(data), bytes_of(data, tensor))
               : NULL;
}

static starpu_data_handle_t register_slot(struct mtlm_run_data *data,
                                          const struct mtlm_tensor *tensor,
                                          int slot)
{
    void *memory = memory_of(data, tensor, slot);
    const int64_t elems = elems_of(data, tensor);
    starpu_data_handle_t handle;

    if (!memory || !on_gpu(data) || tensor->storage == MTLM_STORE_SAVED)
        return mtlm_data_register(memory, elems, tensor->dtype, tensor->name);
    handle = mtlm_data_register_on(data->home, memory, elems, tensor->dtype,
                                   tensor->name);
    if (tensor->block >= 0 && data->stage[tensor->block].memory)
        mtlm_data_stage(handle, data->stage[tensor->block].memory
                                    + tensor->offset + slot * tensor->stride);
    return handle;
}

/* Registers all slots.  StarPU's own traces show the layer and the slot of data
 * that a task writes. */
static void register_tensor(struct mtlm_run_data *data,
                            const struct mtlm_tensor *tensor, int layer)
{
    starpu_data_handle_t *slot;

    if (!mtlm_tensor_is_owner(tensor) || mtlm_tensor_is_on_disk(tensor))
        return;
    slot = mtlm_calloc(tensor->slots, sizeof(*slot));
    for (int i = 0; i < tensor->slots; i++) {
        slot[i] = register_slot(data, tensor, i);
        starpu_data_set_coordinates(slot[i], 2, layer, i);
    }
    data->handle[tensor->id] = slot;
}

void mtlm_run_data_create(struct mtlm_run_data *data,
                          const struct mtlm_program *program, bool synthetic,
                          bool staged)
{
    const struct mtlm_graph *graph = program->graph;
    int *layer;

    data->program = program;
    data->synthetic = synthetic;
    data->handle = mtlm_calloc(graph->n_tensors, sizeof(*data->handle));
    data->home = synthetic ? STARPU_MAIN_RAM : mtlm_data_home();
    data->host = find_host_tensors(graph);
    data->stage = mtlm_calloc(graph->n_blocks, sizeof(*data->stage));
    create_arenas(data);
    if (on_gpu(data) && staged)
        create_stages(data);
    layer = mtlm_tensor_layers(program);
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
    for (int i = 0; i < graph->n_blocks; i++)
        mtlm_arena_destroy(&data->stage[i]);
    free(data->stage);
    free(data->arena);
    free(data->host);
    free(data->handle);
}

starpu_data_handle_t mtlm_run_data_handle(const struct mtlm_run_data *data,
                                          const struct mtlm_tensor *tensor,
                                          const struct mtlm_submission *at)
{
    const struct mtlm_slot slot =
        mtlm_tensor_slot(tensor, mtlm_tensor_use(tensor, at));

    return data->handle[slot.owner->id][slot.slot];
}

void mtlm_run_data_read(const struct mtlm_run_data *data,
                        const struct mtlm_tensor *tensor,
                        const struct mtlm_submission *at, void *memory,
                        size_t bytes)
{
    starpu_data_handle_t handle = mtlm_run_data_handle(data, tensor, at);

    MTLM_CHECK_STARPU(
        starpu_data_acquire_on_node(handle, STARPU_MAIN_RAM, STARPU_R));
    memcpy(memory, starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM),
           bytes);
    starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
}

const void *mtlm_run_data_await(const struct mtlm_run_data *data,
                                const struct mtlm_tensor *tensor)
{
    const struct mtlm_submission first = {0};
    starpu_data_handle_t handle = mtlm_run_data_handle(data, tensor, &first);
    const void *memory;

    MTLM_CHECK_STARPU(
        starpu_data_acquire_on_node(handle, STARPU_MAIN_RAM, STARPU_R));
    memory = starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM);
    starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
    return memory;
}

static void write_slot(const struct mtlm_run_data *data,
                       const struct mtlm_tensor *tensor, int64_t iteration,
                       const void *memory)
{
    const struct mtlm_submission at = {.iteration = iteration};
    starpu_data_handle_t handle = mtlm_run_data_handle(data, tensor, &at);

    MTLM_CHECK_STARPU(
        starpu_data_acquire_on_node(handle, STARPU_MAIN_RAM, STARPU_W));
    memcpy(starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM), memory,
           mtlm_tensor_bytes(tensor));
    starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
}

void mtlm_run_data_write(const struct mtlm_run_data *data,
                         const struct mtlm_tensor *tensor, int64_t iteration,
                         const void *memory)
{
    const bool all = tensor->by_iteration && !tensor->pool;

    for (int i = 0; i < (all ? MTLM_VERSIONS : 1); i++)
        write_slot(data, tensor, iteration + i, memory);
}
