/* Finds the node that computed the first value that is not finite. */

#include "config.h"

#include <inttypes.h>

#include "graph/build/version.h"
#include "launch/train/train_private.h"

/* Returns how messages end.  With versions of the weights, the search lacks
 * those of the iteration (mtlm_run_find_bad_node()). */
static const char *weights_of_search(const struct mtlm_job *job)
{
    return mtlm_version_count(&job->program->config) > 1
               ? " at the weights of the step after"
               : "";
}

void mtlm_train_explain_nan(struct mtlm_train *s, int64_t iteration)
{
    struct mtlm_ranks *ranks = s->job->ranks;
    const char *weights = weights_of_search(s->job);
    struct mtlm_bad_node bad;
    int64_t mine, first;

    mtlm_run_find_bad_node(s->job->run, iteration, &bad);
    mtlm_job_stop_engine(s->job);
    /* Ranks of a tensor-parallel group may share the node: one prints. */
    mine = bad.found
               ? bad.order * mtlm_ranks_size(ranks) + mtlm_ranks_rank(ranks)
               : INT64_MAX;
    first = mtlm_ranks_min(ranks, mine);
    if (first == INT64_MAX) {
        if (mtlm_ranks_rank(ranks) == 0)
            mtlm_warn("iteration %" PRId64
                      ": loss or gradient norm is not finite, but every node "
                      "is finite when run again%s",
                      iteration + 1, weights);
    } else if (mine == first) {
        mtlm_warn("iteration %" PRId64 ": rank %d: %s made the first "
                  "value that is not finite%s",
                  iteration + 1, mtlm_ranks_rank(ranks), bad.text, weights);
    }
    s->code = MTLM_EXIT_NUMERIC;
}
