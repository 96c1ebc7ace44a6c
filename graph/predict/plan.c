/* The plan of a rank: bytes of every kind, and the checks against limits. */

#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codelets/attention/attention_fused.h"
#include "graph/build/offload.h"
#include "graph/build/offload_inputs.h"
#include "graph/build/version.h"
#include "graph/predict/plan.h"
#include "graph/predict/plan_scratch.h"
#include "graph/predict/plan_work.h"
#include "graph/predict/published_memory.h"
#include "runtime/base/memory.h"
#include "runtime/base/units.h"
#include "runtime/machine/blas.h"
#include "runtime/machine/gpu.h"

/* Bytes of a submitted task or message (StarPU's task, our argument, edges),
 * and bytes of a handle.  Measured with StarPU 1.4.10. */
#define TASK_BYTES 2816.0
#define HANDLE_BYTES 7168.0

/* A worker's scratch in a matrix product of OpenBLAS, beside a panel of one
 * factor (plan_scratch.h): a copy of a block of the other. */
#define BLAS_BLOCK (1024.0 * 1024)

/* What malloc adds to an allocation. */
#define MALLOC_BYTES 16

/* Nodes of a layer in a microbatch, at least: forward, backward, weights. */
enum { NODES_PER_LAYER = 24 };

/* Returns the bytes of items, and of StarPU's tasks of two iterations: the most
 * that are submitted at once. */
static double items_bytes(double train, double eval)
{
    return sizeof(struct mtlm_item) * (train + eval) + 2 * TASK_BYTES * train;
}

static void add_tensors(const struct mtlm_program *program,
                        struct mtlm_plan *plan, double *slots)
{
    const struct mtlm_graph *graph = program->graph;

    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];
        double *const kind[] = {[MTLM_STORE_PARAM] = &plan->weight_bytes,
                                [MTLM_STORE_GRAD] = &plan->gradient_bytes,
                                [MTLM_STORE_MOMENT] = &plan->moment_bytes,
                                [MTLM_STORE_ACTIVATION] =
                                    &plan->activation_bytes,
                                [MTLM_STORE_GLOBAL] = &plan->runtime_bytes,
                                [MTLM_STORE_SAVED] = &plan->saved_bytes,
                                [MTLM_STORE_CONTROL] = &plan->runtime_bytes};

        if (!mtlm_tensor_is_owner(t) || mtlm_tensor_is_on_disk(t))
            continue;
        if (!t->view)
            *kind[t->storage] += t->slots * mtlm_tensor_bytes(t);
        *slots += t->slots;
        if (mtlm_tensor_elems(t) > plan->largest) {
            plan->largest = mtlm_tensor_elems(t);
            snprintf(plan->largest_name, sizeof(plan->largest_name), "%s",
                     t->name);
        }
    }
}

static double slots_bytes(const struct mtlm_tensor *t)
{
    return t->slots * mtlm_tensor_bytes(t);
}

static bool is_staged(const struct mtlm_node *node, bool nccl)
{
    const struct mtlm_op *op = mtlm_ops[node->call.kind];

    return op->op_class == MTLM_CLASS_P2P
           || (op->op_class == MTLM_CLASS_HOST && !op->cpu_fetches)
           || (op->op_class == MTLM_CLASS_COLLECTIVE && !nccl);
}

static void mark_tensor(bool *tensor, const struct mtlm_tensor *t)
{
    if (t && t->piece < 0)
        tensor[mtlm_tensor_slot(t, 0).owner->id] = true;
}

/* Marks the tensors that the host fills from a checkpoint; offloaded ones go
 * to their pieces instead. */
static void mark_loaded(const struct mtlm_program *program, bool *tensor)
{
    const int loads = program->config.loads;

    for (int i = 0; i < program->n_params && loads != MTLM_LOAD_NOTHING; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        mark_tensor(tensor, p->weight);
        mark_tensor(tensor, p->master);
        mark_tensor(tensor, loads == MTLM_LOAD_ALL ? p->m : NULL);
        mark_tensor(tensor, loads == MTLM_LOAD_ALL ? p->v : NULL);
    }
}

/* Returns the bytes of host copies.  Messages stage whole blocks; other tensors
 * and loaded tensors are staged one by one. */
static double staged_bytes(const struct mtlm_program *program, bool nccl)
{
    const struct mtlm_graph *graph = program->graph;
    bool *block = mtlm_calloc(graph->n_blocks + 1, sizeof(*block));
    bool *tensor = mtlm_calloc(graph->n_tensors + 1, sizeof(*tensor));
    double bytes = 0;

    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        if (!is_staged(node, nccl))
            continue;
        for (int k = 0; k < mtlm_node_n_uses(node); k++) {
            const struct mtlm_tensor *t =
                mtlm_tensor_slot(mtlm_node_use(node, k).tensor, 0).owner;

            *(t->block < 0 ? &tensor[t->id] : &block[t->block]) = true;
        }
    }
    mark_loaded(program, tensor);
    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];

        if (tensor[i] && (t->block < 0 || !block[t->block]))
            bytes += slots_bytes(t);
    }
    for (int i = 0; i < graph->n_blocks; i++)
        bytes += block[i] ? graph->block[i] : 0;
    free(tensor);
    free(block);
    return bytes;
}

/* Returns the bytes of cuDNN's workspace for attention; all calls of a rank
 * share one workspace. */
static double attention_bytes(const struct mtlm_graph *graph)
{
    double most = 0;

    for (int i = 0; i < graph->all.n; i++)
        if (graph->all.node[i]->call.kind == MTLM_OP_ATTENTION_BWD)
            most = fmax(most,
                        mtlm_attention_fused_bytes(&graph->all.node[i]->call));
    return most;
}

static int group_size(const struct mtlm_layout *layout, enum mtlm_group group)
{
    return group == MTLM_GROUP_TP          ? layout->tp
           : group == MTLM_GROUP_DP        ? layout->dp
           : group == MTLM_GROUP_EMBEDDING ? 2
                                           : mtlm_layout_ranks(layout);
}

/* Returns the bytes of buffers that a sum over ranks takes.  MPI copies the
 * values. */
static double sum_bytes(const struct mtlm_layout *layout,
                        const struct mtlm_node *node)
{
    const double bytes = mtlm_node_bytes(node);
    const bool pair = group_size(layout, node->call.attr.collective.group) == 2
                      && node->call.attr.collective.reduce == MTLM_REDUCE_SUM;

    return pair ? fmin(bytes, MTLM_PAIR_SUM_BYTES) : bytes;
}

/* Returns the bytes that BLAS keeps for each worker, and those of buffers for
 * sums.  All buckets may be reduced at the same time; a gather needs no buffer.
 */
static double scratch_bytes(const struct mtlm_program *program)
{
    const struct mtlm_graph *graph = program->graph;
    double message = 0, buckets = 0;

    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        if (node->call.kind == MTLM_OP_BUCKET_ALL_REDUCE
            || node->call.kind == MTLM_OP_BUCKET_REDUCE_SCATTER)
            buckets += sum_bytes(&program->config.layout, node);
        else if (node->call.kind == MTLM_OP_ALL_REDUCE
                 || node->call.kind == MTLM_OP_REDUCE_SCATTER)
            message = fmax(message, sum_bytes(&program->config.layout, node));
    }
    return (mtlm_blas_by_amx() ? 0 : BLAS_BLOCK)
               * program->config.layout.workers
           + fmax(message, buckets);
}

static double graph_bytes(const struct mtlm_graph *graph)
{
    const double node =
        sizeof(struct mtlm_node) + 2 * sizeof(void *) + MALLOC_BYTES;
    const double tensor = sizeof(struct mtlm_tensor) + sizeof(void *)
                          + 2 * MALLOC_BYTES + 16; /* its name */

    return node * graph->all.n + tensor * graph->n_tensors;
}

static double parameters(const struct mtlm_program *program)
{
    double n = 0;

    for (int i = 0; i < program->n_params; i++)
        if (!program->param[i].copy)
            n += mtlm_tensor_elems(program->param[i].weight);
    return n;
}

/* Returns the bytes of the largest tensor in the rank's file; 0: no file. */
static double largest_on_disk(const struct mtlm_program *program)
{
    double most = 0;

    for (int i = 0; i < program->graph->n_tensors; i++)
        if (program->graph->tensor[i]->piece >= 0)
            most = fmax(most, mtlm_tensor_bytes(program->graph->tensor[i]));
    return most;
}

/* Replaces the memory of our graph by that of published code. */
static void take_published(const struct mtlm_program *program,
                           struct mtlm_plan *plan)
{
    const struct mtlm_published_state state =
        mtlm_published_memory_state(&program->config);
    double n = 0;

    for (int i = 0; i < program->n_params; i++)
        if (!program->param[i].weight->alias_of)
            n += mtlm_tensor_elems(program->param[i].weight);
    plan->weight_bytes = n * state.weight;
    plan->gradient_bytes = n * state.gradient;
    plan->moment_bytes = n * state.optimizer;
    plan->activation_bytes = mtlm_published_memory_activations(program);
    plan->attention_bytes = 0;
}

/* Returns the bytes that reading a checkpoint takes: the values of the largest
 * parameter, the pages of the file, and the 16-bit values.  A piece of an
 * offloaded parameter goes through an aligned copy. */
static double load_bytes(const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const double narrow = config->value == MTLM_REAL ? 0 : 2;
    double most = 0;

    for (int i = 0; i < program->n_params && config->loads; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        most = fmax(most,
                    (sizeof(float) + narrow) * mtlm_tensor_elems(p->weight)
                        + (double) sizeof(float) * p->info.rows * p->info.cols);
    }
    return most + (config->loads ? largest_on_disk(program) : 0);
}

struct mtlm_plan mtlm_plan(const struct mtlm_program *program,
                           double process_bytes)
{
    struct mtlm_plan plan = {.stage = program->stage[0].stage,
                             .first_layer = program->stage[0].first_layer,
                             .parameters = parameters(program),
                             .file_bytes = mtlm_offload_bytes(program),
                             .loaded_bytes = program->offloaded.loaded_bytes,
                             .stored_bytes = program->offloaded.stored_bytes,
                             .process_bytes = process_bytes,
                             .runtime_bytes = process_bytes};
    const double kernels = mtlm_plan_scratch_kernels(program, false);
    const double scratch = scratch_bytes(program);
    const double load = load_bytes(program);
    double slots = 0, later, beyond;

    plan.window = program->window[plan.stage];
    add_tensors(program, &plan, &slots);
    /* The writer of a checkpoint reads a tensor twice: aligned, and its own. */
    if (program->config.save != MTLM_SAVE_NOTHING)
        plan.saved_bytes += 2 * largest_on_disk(program);
    plan.runtime_bytes += items_bytes(0, mtlm_plan_work_add(&plan, program));
    plan.runtime_bytes +=
        items_bytes((double) (plan.tasks + program->offloaded.moves), 0)
        + HANDLE_BYTES * slots + graph_bytes(program->graph) + kernels
        + scratch;
    /* Allocated only after a checkpoint is read. */
    later = plan.activation_bytes + kernels - mtlm_plan_scratch_init(program)
            + scratch + 2 * TASK_BYTES * plan.tasks;
    beyond = fmax(0, load - later);
    plan.runtime_bytes += beyond;
    plan.gpu_load_bytes = load - beyond;
    plan.cpu_kernel_bytes = kernels - mtlm_plan_scratch_kernels(program, true);
    plan.attention_bytes = attention_bytes(program->graph);
    plan.staged_bytes = staged_bytes(program, false);
    plan.staged_nccl_bytes = staged_bytes(program, true);
    if (program->config.profile)
        take_published(program, &plan);
    plan.total_bytes = plan.weight_bytes + plan.gradient_bytes
                       + plan.moment_bytes + plan.activation_bytes
                       + plan.saved_bytes + plan.runtime_bytes;
    return plan;
}

double mtlm_plan_more_bytes(const struct mtlm_plan *plan)
{
    return plan->total_bytes - plan->process_bytes;
}

double mtlm_plan_gpu_bytes(const struct mtlm_plan *plan)
{
    return plan->total_bytes - plan->runtime_bytes - plan->saved_bytes
           + plan->attention_bytes;
}

double mtlm_plan_beside_gpu_bytes(const struct mtlm_plan *plan, bool nccl)
{
    return MTLM_GPU_HOST_BYTES + plan->runtime_bytes + plan->saved_bytes
           + plan->gpu_load_bytes - plan->cpu_kernel_bytes - plan->process_bytes
           + plan->file_bytes
           + (nccl ? plan->staged_nccl_bytes : plan->staged_bytes);
}

/* ---- limits ---- */

/* Returns the option that shortens the longest message: gradients and weights
 * have their size whatever the microbatch is. */
static const char *shorter_message(const struct mtlm_plan *plan)
{
    return plan->longest_kind == MTLM_TRAFFIC_DP
                   || plan->longest_kind == MTLM_TRAFFIC_EMBEDDING
               ? "larger --tensor-model-parallel-size"
               : "smaller --micro-batch-size";
}

/* StarPU counts a tensor's elements in 32 bits, MPI a message's in an int. */
int mtlm_plan_check_counts(const struct mtlm_plan *plan, struct mtlm_error *err)
{
    if (plan->largest > UINT32_MAX)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "%s has %" PRId64
                              " elements, this version can have %" PRIu32
                              " in one tensor; a larger "
                              "--tensor-model-parallel-size or a smaller "
                              "--micro-batch-size would do",
                              plan->largest_name, plan->largest, UINT32_MAX);
    if (plan->longest > INT_MAX)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "%s of %" PRId64 " elements: a message can have %d; a %s would do",
            plan->longest_name, plan->longest, INT_MAX, shorter_message(plan));
    return 0;
}

int mtlm_plan_check(double on_host, double available, struct mtlm_error *err)
{
    if (on_host <= available)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                          "not enough memory: training needs %.2f GiB on this "
                          "machine, which has %.2f GiB available",
                          on_host / MTLM_GIB, available / MTLM_GIB);
}

double mtlm_plan_lower_bound(const struct mtlm_program_config *config, bool gpu)
{
    const struct mtlm_model *model = &config->model;
    const struct mtlm_layout *layout = &config->layout;
    const double shards = (double) layout->tp * layout->pp;
    const double layers = floor((double) model->num_layers / layout->pp);
    /* Weight, gradient, two moments, master; one activation of each layer.  Of
     * offloaded state and offloaded inputs, the slots are left out. */
    const bool trains = !config->eval_only;
    const double value = mtlm_dtype_bytes(config->value);
    const double states = config->offload != MTLM_OFFLOAD_NONE ? 0
                          : config->value == MTLM_REAL         ? 2
                                                               : 3;
    const double replicas = config->distributed_optimizer ? layout->dp : 1;
    const double versions = mtlm_version_count(config);
    const double weights =
        mtlm_offload_streams(config)
            ? 0
            : (versions * value
               + trains * (versions + states / replicas) * sizeof(mtlm_real))
                  * mtlm_model_parameters(model) / shards;
    /* Ranks may share rows, and layers of a group keep one activation. */
    const struct mtlm_recompute *recompute = &config->recompute;
    const double fewer =
        (mtlm_program_splits_rows(config) ? layout->tp : 1)
        * (recompute->granularity == MTLM_RECOMPUTE_FULL
                   && recompute->method == MTLM_RECOMPUTE_UNIFORM
               ? fmax(1, recompute->num_layers)
               : 1);
    const double kept = mtlm_offload_inputs_allowed(config) ? 0 : trains;
    const double activations = kept * value * layers * model->seq_length
                               * config->micro_batch * model->hidden_size
                               / fewer;
    const double nodes =
        trains * NODES_PER_LAYER * layers * config->microbatches;
    const double eval = 10 * layers * mtlm_program_piece(config);

    /* Items are counted in int. */
    if (nodes * 4 > INT_MAX || eval * 4 > INT_MAX)
        return INFINITY;
    return weights + activations + (gpu ? 0 : items_bytes(nodes, eval));
}
