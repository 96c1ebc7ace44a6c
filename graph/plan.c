#include "config.h"

#include "graph/plan.h"

/* Memory of a submitted task or message: StarPU's own 2.3 kB, our argument,
 * handles' bookkeeping (measured with StarPU 1.4.10). */
#define TASK_BYTES 4096.0

#define GIB (1024.0 * 1024 * 1024)

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
    plan.total_bytes = plan.weight_bytes + plan.gradient_bytes
                       + plan.moment_bytes + plan.activation_bytes + globals
                       + 2 * TASK_BYTES * plan.tasks;
    return plan;
}

static int refuse(double need, double available, int ranks, const char *what,
                  struct mtlm_error *err)
{
    return mtlm_error_set(
        err, MTLM_EXIT_RESOURCE,
        "not enough memory: %s needs %.2f GiB on each of %d rank%s of this "
        "machine, which has %.2f GiB available; fewer or smaller layers "
        "(--num-layers, --hidden-size), a smaller --micro-batch-size, or more "
        "machines with a larger --pipeline-model-parallel-size would do",
        what, need / GIB, ranks, ranks > 1 ? "s" : "", available / GIB);
}

int mtlm_plan_check(const struct mtlm_plan *plan, double available, int ranks,
                    struct mtlm_error *err)
{
    if (plan->total_bytes * ranks <= available)
        return 0;
    return refuse(plan->total_bytes, available, ranks, "training", err);
}

int mtlm_plan_check_model(const struct mtlm_model *model,
                          const struct mtlm_layout *layout, int64_t micro_batch,
                          double available, int ranks, struct mtlm_error *err)
{
    const double shards = (double) layout->tp * layout->pp;
    /* Weight, gradient, two moments; one activation of each layer. */
    const double weights = 16 * mtlm_model_parameters(model) / shards;
    const double activations = 4.0 * model->num_layers / layout->pp
                               * model->seq_length * micro_batch
                               * model->hidden_size;

    if ((weights + activations) * ranks <= available)
        return 0;
    return refuse(weights + activations, available, ranks, "the model alone",
                  err);
}
