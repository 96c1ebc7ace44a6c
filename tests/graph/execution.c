#include "config.h"

#include "tests/graph/execution.h"

/* One of the computations of the same phase and stage in one microbatch.  The
 * optimizer takes no time: the ranks of a tensor-parallel group have different
 * shares of it, and what a rank begins while it waits for the other says
 * little. */
static double share(void *arg, const struct mtlm_program *program,
                    const struct mtlm_item *item, int iteration)
{
    const struct mtlm_node *node = item->node;
    int n = 0;

    (void) arg;
    (void) iteration;
    if (node->phase == MTLM_PHASE_OPTIMIZER
        || mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_COLLECTIVE
        || mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_P2P)
        return 0;
    for (int i = 0; i < program->train.n; i++) {
        const struct mtlm_item *other = &program->train.item[i];

        n += other->microbatch == 0 && other->node->phase == node->phase
             && other->node->stage == node->stage
             && other->node->lane == MTLM_LANE_COMPUTE;
    }
    return 1e-9 * (EXECUTION_UNIT_NS / n);
}

struct mtlm_execution execution_run(const struct small_ranks *ranks,
                                    int iterations)
{
    const struct mtlm_evaluate_program job = {
        .program = (const struct mtlm_program *const *) ranks->program,
        .n = ranks->n,
        .iterations = iterations,
        .seconds = share};

    return mtlm_evaluate_program(&job);
}
