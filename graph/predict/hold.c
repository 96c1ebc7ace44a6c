/* The hold rule's share, by evaluation of the candidates. */

#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "graph/predict/hold.h"
#include "graph/predict/pipeline_programs.h"

/* Of equal shares, the first one wins. */
static const double shares[] = {0.5, 0.25, 1, 0};

enum { SHARES = sizeof(shares) / sizeof(shares[0]) };

/* The shortest message, as a share of F. */
static const double least_hop = 5e-3;

static const double rounding = 1e-9;

/* Returns the makespan with this share.  late: messages take at least the least
 * time. */
typedef double evaluate_share(void *arg, double share, bool late);

static double choose_share(evaluate_share *evaluate, void *arg, double *seconds)
{
    const double most = evaluate(arg, 0, false);
    double least = INFINITY, share = 0;

    for (int i = 0; i < SHARES; i++) {
        const double given = evaluate(arg, shares[i], false);
        const double late = evaluate(arg, shares[i], true);

        if (given > most * (1 + rounding) || late >= least * (1 - rounding))
            continue;
        least = late;
        share = shares[i];
        if (seconds)
            *seconds = given;
    }
    return share;
}

/* ---- pipelines ---- */

static double shortest_forward(const struct mtlm_evaluate *pipeline)
{
    double least = INFINITY;

    for (int k = 0; k < mtlm_layout_stages(pipeline->layout); k++)
        least = fmin(least, pipeline->forward[k]);
    return least;
}

static double evaluate_pipeline(void *arg, double share, bool late)
{
    struct mtlm_evaluate one = *(const struct mtlm_evaluate *) arg;
    struct mtlm_evaluation e;

    if (late)
        one.hop = fmax(one.hop, least_hop * shortest_forward(&one));
    one.hold = share;
    e = mtlm_evaluate(&one);
    mtlm_evaluation_free(&e);
    return e.makespan_s;
}

double mtlm_hold_choose(const struct mtlm_evaluate *pipeline, double *seconds)
{
    return choose_share(evaluate_pipeline, (void *) pipeline, seconds);
}

/* ---- programs ---- */

/* An iteration of more tasks is evaluated with so many microbatches per
 * pipeline rank. */
enum { MANY_TASKS = 100000, ENOUGH = 2 };

struct programs {
    struct mtlm_pipeline_programs pipeline;
    double least_s; /* of a message */
};

static double item_seconds(void *arg, const struct mtlm_program *program,
                           const struct mtlm_item *item, int iteration)
{
    struct programs *p = arg;
    const double seconds =
        mtlm_pipeline_programs_seconds(&p->pipeline, program, item, iteration);

    return mtlm_ops[item->node->call.kind]->op_class == MTLM_CLASS_P2P
               ? fmax(seconds, p->least_s)
               : seconds;
}

/* Returns the seconds of a microbatch's F on the first rank. */
static double forward_seconds(struct mtlm_pipeline_programs *p)
{
    const struct mtlm_items *items = &p->program[0]->train;
    double seconds = 0;

    for (int i = 0; i < items->n; i++) {
        const struct mtlm_item *item = &items->item[i];

        if (item->microbatch == 0 && item->node->phase == MTLM_PHASE_FORWARD
            && item->node->lane == MTLM_LANE_COMPUTE)
            seconds +=
                mtlm_pipeline_programs_seconds(p, p->program[0], item, 0);
    }
    return seconds;
}

static double evaluate_programs(void *arg, double share, bool late)
{
    struct programs *p = arg;
    struct mtlm_execution run;

    p->least_s = late ? least_hop * forward_seconds(&p->pipeline) : 0;
    run = mtlm_evaluate_program(&(struct mtlm_evaluate_program){
        .program = (const struct mtlm_program *const *) p->pipeline.program,
        .n = p->pipeline.n,
        .iterations = 1,
        .seconds = item_seconds,
        .arg = p,
        .hold = share,
        .leaves_backward = p->pipeline.program[0]->place != NULL});
    mtlm_execution_free(&run);
    return 1e-9 * run.makespan_ns;
}

double mtlm_hold_choose_program(const struct mtlm_program_config *config,
                                const struct mtlm_cluster *cluster)
{
    const int64_t enough = ENOUGH * config->layout.pp;
    struct mtlm_program_config one = *config;
    struct programs p;
    int64_t tasks = 0;
    double share;

    p.pipeline = mtlm_pipeline_programs_create(&one, cluster);
    for (int i = 0; i < p.pipeline.n; i++)
        tasks += p.pipeline.program[i]->train.n;
    if (tasks > MANY_TASKS && one.microbatches > enough && !one.order) {
        mtlm_pipeline_programs_free(&p.pipeline);
        one.microbatches = enough;
        p.pipeline = mtlm_pipeline_programs_create(&one, cluster);
    }
    share = choose_share(evaluate_programs, &p, NULL);
    mtlm_pipeline_programs_free(&p.pipeline);
    return share;
}
