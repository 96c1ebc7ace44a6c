/* The hold rule's share, by evaluation of the candidates. */

#include "config.h"

#include <math.h>
#include <stddef.h>

#include "graph/predict/hold.h"

/* Of equal shares, the first one wins. */
static const double shares[] = {0.25, 0.5, 1, 0};

enum { SHARES = sizeof(shares) / sizeof(shares[0]) };

/* The shortest message, as a share of the shortest F. */
static const double least_hop = 1e-3;

static const double rounding = 1e-9;

static double evaluate_seconds(const struct mtlm_evaluate *pipeline, double hop,
                               double share)
{
    struct mtlm_evaluate one = *pipeline;
    struct mtlm_evaluation e;

    one.hop = hop;
    one.hold = share;
    e = mtlm_evaluate(&one);
    mtlm_evaluation_free(&e);
    return e.makespan_s;
}

static double shortest_forward(const struct mtlm_evaluate *pipeline)
{
    double least = INFINITY;

    for (int k = 0; k < mtlm_layout_stages(pipeline->layout); k++)
        least = fmin(least, pipeline->forward[k]);
    return least;
}

double mtlm_hold_choose(const struct mtlm_evaluate *pipeline, double *seconds)
{
    const double hop =
        fmax(pipeline->hop, least_hop * shortest_forward(pipeline));
    const double most = evaluate_seconds(pipeline, pipeline->hop, 0);
    double least = INFINITY, share = 0;

    for (int i = 0; i < SHARES; i++) {
        const double given =
            evaluate_seconds(pipeline, pipeline->hop, shares[i]);
        const double real = hop > pipeline->hop
                                ? evaluate_seconds(pipeline, hop, shares[i])
                                : given;

        if (given > most * (1 + rounding) || real >= least * (1 - rounding))
            continue;
        least = real;
        share = shares[i];
        if (seconds)
            *seconds = given;
    }
    return share;
}
