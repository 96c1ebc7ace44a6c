/* Forecast of an iteration: the evaluated pipeline plus what is not hidden. */

#include "config.h"

#include <math.h>

#include "graph/predict/cost.h"
#include "graph/predict/evaluate.h"
#include "graph/predict/forecast.h"
#include "graph/predict/work.h"

/* Microbatches to evaluate for each rank of a pipeline, and of a pipeline of
 * more than LARGE ranks.  Each further microbatch adds the work of the busiest
 * rank. */
enum { ENOUGH = 4, LARGE = 16, ENOUGH_OF_LARGE = 2 };

static double transfer_seconds(const struct mtlm_traffic *traffic, bool within)
{
    const struct mtlm_link *link =
        within ? &mtlm_cluster_usual.host : &mtlm_cluster_usual.network;

    return traffic->messages * link->latency_s
           + traffic->bytes / link->bytes_per_s;
}

/* Returns the seconds that the slowest pipeline rank spends on that traffic. */
static double longest_seconds(const struct mtlm_outline *outline,
                              enum mtlm_traffic_kind kind, bool within)
{
    double most = 0;

    for (int i = 0; i < outline->layout.pp; i++)
        most = fmax(most,
                    transfer_seconds(&outline->plan[i].traffic[kind], within));
    return most;
}

/* Returns the seconds of a message to a neighbouring stage. */
static double hop_seconds(const struct mtlm_outline *outline, bool within)
{
    const struct mtlm_traffic *all = &outline->plan[0].traffic[MTLM_TRAFFIC_PP];
    struct mtlm_traffic one = {.messages = 1};

    if (all->messages == 0)
        return 0;
    one.bytes = all->bytes / all->messages;
    return transfer_seconds(&one, within);
}

/* Returns the seconds of computation and of messages between stages. */
static double pipeline_seconds(const struct mtlm_program_config *config,
                               double hop_s)
{
    struct mtlm_work work = mtlm_work_create(config);
    struct mtlm_evaluate *p = &work.pipeline;
    const int pp = config->layout.pp, m = config->microbatches;
    const int enough = pp * (pp > LARGE ? ENOUGH_OF_LARGE : ENOUGH);
    const double scale =
        work.flops_per_s
        / (mtlm_cluster_usual.flops_per_s * mtlm_cluster_usual.efficiency);
    struct mtlm_evaluation e;
    double seconds;

    if (pp > LARGE)
        p->pieces = 1;
    p->hop = hop_s / scale;
    p->microbatches = m < enough ? m : enough;
    e = mtlm_evaluate(p);
    seconds = e.makespan_s + (m - p->microbatches) * e.busiest_s;
    mtlm_evaluation_free(&e);
    mtlm_work_free(&work);
    return seconds * scale;
}

double mtlm_forecast(const struct mtlm_program_config *config,
                     const struct mtlm_outline *outline, int per_host)
{
    const struct mtlm_layout *layout = &config->layout;
    const bool one_host = mtlm_layout_ranks(layout) <= per_host;
    struct mtlm_program_config by_flops = *config;

    by_flops.times = NULL; /* times of other layouts are unknown */
    return pipeline_seconds(&by_flops, hop_seconds(outline, one_host))
           + longest_seconds(outline, MTLM_TRAFFIC_TP,
                             per_host % layout->tp == 0)
           + longest_seconds(outline, MTLM_TRAFFIC_DP,
                             one_host
                                 || per_host % (layout->tp * layout->dp) == 0)
           + longest_seconds(outline, MTLM_TRAFFIC_EMBEDDING, one_host);
}
