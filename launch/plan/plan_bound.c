/* Finds the bound of a plan, prints the gap and writes the proof. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/ring.h"
#include "graph/predict/lp_bound.h"
#include "launch/plan/bound_file.h"
#include "launch/plan/plan_bound.h"
#include "launch/plan/step.h"
#include "runtime/base/memory.h"

/* Sets what activations take.  Gradients that wait for W count as none.  stage:
 * [stages], which the result borrows. */
static struct mtlm_rank_memory memory_of(
    const struct mtlm_program_config *config, double *stage)
{
    const int stages = mtlm_layout_stages(&config->layout);
    double *times = mtlm_calloc(3 * (size_t) stages, sizeof(*times));
    const struct mtlm_window_model model =
        mtlm_ring_model(config, times, stage);
    const double share = model.weight_share - model.gradient_share;

    free(times);
    return (struct mtlm_rank_memory){
        .stage = stage,
        .until_weight = fmin(1, fmax(0, share)),
        .most = fmax(config->act_mem, mtlm_ring_memory(config))};
}

const char *mtlm_plan_bound_of(const struct mtlm_program_config *config)
{
    static const char *const of[2][2][2] = {
        {{"", " that flushes"},
         {" with B and W as one", " with B and W as one that flushes"}},
        {{" of whole passes", " of whole passes that flushes"},
         {" of whole passes with B and W as one",
          " of whole passes with B and W as one that flushes"}}};
    const bool shared = config->layout.tp > 1 || config->layout.workers > 1;

    return of[shared][config->schedule->fused][config->weight_staleness > 0];
}

static void print_bound(const struct mtlm_lp_bound *bound,
                        const struct mtlm_program_config *config,
                        const struct mtlm_evaluation *e, FILE *out)
{
    if (bound->least_s > 0)
        fprintf(out,
                "bound            in this memory no schedule%s takes less than "
                "%.6g s, by linear program\n"
                "                 of rank %d: this one is %.2f %% above\n",
                mtlm_plan_bound_of(config), bound->least_s, bound->passes.rank,
                100 * fmax(0, e->makespan_s / bound->least_s - 1));
    else
        fprintf(out,
                "bound            linear programs prove no more than %.6g s in "
                "this memory: this one is %.2f %% above\n",
                e->least_s, 100 * fmax(0, e->makespan_s / e->least_s - 1));
}

int mtlm_plan_bound(const struct mtlm_program_config *config,
                    const struct mtlm_work *work,
                    const struct mtlm_evaluation *evaluation, const char *path,
                    FILE *out, struct mtlm_error *err)
{
    const int stages = mtlm_layout_stages(&config->layout);
    struct mtlm_rank_memory memory;
    struct mtlm_lp_bound bound;
    double *stage;
    int rc = 0;

    if (config->layout.workers > 1)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--bound lp is for one worker on each rank, and "
                              "there are %d: give --workers 1",
                              config->layout.workers);
    mtlm_step_show("solving linear programs");
    stage = mtlm_calloc(stages, sizeof(*stage));
    memory = memory_of(config, stage);
    bound = mtlm_lp_bound_find(&work->pipeline, &memory, evaluation->least_s,
                               evaluation->makespan_s);
    mtlm_step_clear();
    print_bound(&bound, config, evaluation, out);
    if (path && bound.least_s > 0)
        rc = mtlm_bound_file_write(path, &work->pipeline, &memory, &bound, err);
    else if (path)
        rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                            "--bound-out has nothing to prove: no linear "
                            "program raises the bound of path and work");
    mtlm_lp_bound_free(&bound);
    free(stage);
    return rc;
}
