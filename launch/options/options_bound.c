/* --bound, --bound-out and --modes-out: numbers of a plan with times. */

#include "config.h"

#include "graph/predict/lp.h"
#include "launch/options/options_bound.h"

static bool has_times(const struct mtlm_options *o)
{
    return o->stage_times || o->durations || o->cluster_file;
}

static int check_modes(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (!o->modes_out)
        return 0;
    if (o->request != MTLM_REQUEST_PLAN || o->eval_only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--modes-out writes the plan of a training: give "
                              "--dry-run without --eval-only");
    if (!has_times(o))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--modes-out needs the times of F, B and W: "
                              "--stage-times, --durations or --synthetic");
    return 0;
}

int mtlm_options_bound_check(const struct mtlm_options *options,
                             struct mtlm_error *err)
{
    const struct mtlm_options *o = options;

    if (check_modes(o, err) < 0)
        return -1;
    if (o->bound_out && o->bound != MTLM_BOUND_LP)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--bound-out writes the proof of --bound lp");
    if (o->bound != MTLM_BOUND_LP)
        return 0;
    if (o->request != MTLM_REQUEST_PLAN)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--bound lp bounds the plan of --dry-run");
    if (!has_times(o))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--bound lp needs the times of F, B and W: "
                              "--stage-times, --durations or --synthetic");
    if (o->placement == MTLM_PLACEMENT_POLICY)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--bound lp is for placement loop or v: with "
                              "--placement policy no stage has a rank");
    if (!mtlm_lp_available())
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--bound lp needs GLPK, which this build lacks: "
                              "install libglpk-dev, then configure again");
    return 0;
}
