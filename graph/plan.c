#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "graph/plan.h"

/* Memory of a submitted task or message: StarPU's own 2.3 kB, our argument,
 * handles' bookkeeping (measured with StarPU 1.4.10). */
#define TASK_BYTES 4096.0

#define GIB (1024.0 * 1024 * 1024)

/* Nodes of a layer in a microbatch, at least: forward, backward, weights. */
enum { NODES_PER_LAYER = 24 };

/* What is written down of the items, and StarPU's part of two iterations:
 * those that may be submitted at once. */
static double items_bytes(double train, double eval)
{
    return sizeof(struct mtlm_item) * (train + eval) + 2 * TASK_BYTES * train;
}

static int64_t elems(const struct mtlm_tensor *tensor)
{
    return mtlm_shape_elems(&tensor->shape);
}

static bool is_message(const struct mtlm_node *node)
{
    const enum mtlm_op_class class = mtlm_ops[node->call.kind]->op_class;

    return class == MTLM_CLASS_COLLECTIVE || class == MTLM_CLASS_P2P;
}

static void find_largest(const struct mtlm_graph *graph, struct mtlm_plan *plan)
{
    for (int i = 0; i < graph->n_tensors; i++)
        if (!plan->largest || elems(graph->tensor[i]) > elems(plan->largest))
            plan->largest = graph->tensor[i];
    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        if (is_message(node)
            && (!plan->longest
                || elems(node->operand[0]) > elems(plan->longest->operand[0])))
            plan->longest = node;
    }
}

struct mtlm_plan mtlm_plan(const struct mtlm_program *program)
{
    const struct mtlm_graph *graph = program->graph;
    struct mtlm_plan plan = {.tasks = program->train.n};
    double globals = 0;

    for (int i = 0; i < graph->n_tensors; i++) {
        const struct mtlm_tensor *t = graph->tensor[i];
        double *const kind[] = {[MTLM_STORE_PARAM] = &plan.weight_bytes,
                                [MTLM_STORE_GRAD] = &plan.gradient_bytes,
                                [MTLM_STORE_MOMENT] = &plan.moment_bytes,
                                [MTLM_STORE_ACTIVATION] =
                                    &plan.activation_bytes,
                                [MTLM_STORE_GLOBAL] = &globals};

        if (!t->same)
            *kind[t->storage] += t->slots * mtlm_tensor_bytes(t);
    }
    for (int i = 0; i < program->train.n; i++)
        plan.flops += program->train.item[i].node->flops;
    find_largest(graph, &plan);
    plan.total_bytes = plan.weight_bytes + plan.gradient_bytes
                       + plan.moment_bytes + plan.activation_bytes + globals
                       + items_bytes(program->train.n, program->eval.n);
    return plan;
}

static int refuse(const char *what, double need, double available,
                  struct mtlm_error *err)
{
    return mtlm_error_set(
        err, MTLM_EXIT_RESOURCE,
        "not enough memory: %s needs %.2f GiB on this machine, which has %.2f "
        "GiB available; fewer or smaller layers (--num-layers, "
        "--hidden-size), a smaller --micro-batch-size, fewer microbatches "
        "(--global-batch-size), or more machines with a larger "
        "--pipeline-model-parallel-size would do",
        what, need / GIB, available / GIB);
}

/* StarPU counts a tensor's elements in 32 bits, MPI a message's in an int. */
static int check_counts(const struct mtlm_plan *plan, struct mtlm_error *err)
{
    if (plan->largest && elems(plan->largest) > UINT32_MAX)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "%s has %" PRId64 " elements, this version can have %" PRIu32
            " in one tensor; a larger "
            "--tensor-model-parallel-size or a smaller "
            "--micro-batch-size would do",
            plan->largest->name, elems(plan->largest), UINT32_MAX);
    if (plan->longest && elems(plan->longest->operand[0]) > INT_MAX)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "%s of %" PRId64
                              " elements: a message can have %d; a smaller "
                              "--micro-batch-size would do",
                              mtlm_ops[plan->longest->call.kind]->name,
                              elems(plan->longest->operand[0]), INT_MAX);
    return 0;
}

int mtlm_plan_check(const struct mtlm_plan *plan, double on_host,
                    double available, struct mtlm_error *err)
{
    if (check_counts(plan, err) < 0)
        return -1;
    if (on_host <= available)
        return 0;
    return refuse("training", on_host, available, err);
}

int mtlm_plan_check_model(const struct mtlm_program_config *config,
                          double available, int ranks, struct mtlm_error *err)
{
    const struct mtlm_model *model = &config->model;
    const struct mtlm_layout *layout = &config->layout;
    const double shards = (double) layout->tp * layout->pp;
    const double layers = floor((double) model->num_layers / layout->pp);
    /* Weight, gradient, two moments; one activation of each layer. */
    const double weights =
        4 * sizeof(mtlm_real) * mtlm_model_parameters(model) / shards;
    const double activations = sizeof(mtlm_real) * layers * model->seq_length
                               * config->micro_batch * model->hidden_size;
    const double nodes = NODES_PER_LAYER * layers * config->microbatches;
    const double eval = 10 * layers * config->eval_microbatches;
    const double need =
        (weights + activations + items_bytes(nodes, eval)) * ranks;

    /* Items are counted in int. */
    if (need <= available && nodes * 4 < INT_MAX && eval * 4 < INT_MAX)
        return 0;
    return refuse("such a model and batch", need, available, err);
}
