/* The hold rule's share, by evaluation of the candidates. */

#include "config.h"

#include <math.h>
#include <stddef.h>

#include "graph/predict/hold.h"
#include "graph/predict/late.h"
#include "graph/predict/pipeline_programs.h"

/* Of equal shares, the first one wins. */
static const double shares[] = {0.5, 0.25, 1, 0};

enum { SHARES = sizeof(shares) / sizeof(shares[0]) };

static const double rounding = 1e-9;

/* Pipelines to choose a share for. */
struct shares_of {
    /* Returns the makespan with this share; messages take `more` seconds more
     * than given. */
    double (*evaluate)(void *arg, double share, double more);
    void *arg;
    double forward; /* seconds of F */
    double share;   /* that is evaluated */
};

static double evaluate_late(void *arg, double more)
{
    const struct shares_of *s = arg;

    return s->evaluate(s->arg, s->share, more);
}

static double choose_share(struct shares_of *s, double *seconds)
{
    const double most = s->evaluate(s->arg, 0, 0);
    double least = INFINITY, share = 0;

    for (int i = 0; i < SHARES; i++) {
        const double given = s->evaluate(s->arg, shares[i], 0);
        double late;

        if (given > most * (1 + rounding))
            continue;
        s->share = shares[i];
        late = mtlm_late_seconds(evaluate_late, s, s->forward);
        if (late >= least * (1 - rounding))
            continue;
        least = late;
        share = shares[i];
        if (seconds)
            *seconds = given;
    }
    return share;
}

/* ---- pipelines ---- */

static double evaluate_pipeline(void *arg, double share, double more)
{
    struct mtlm_evaluate one = *(const struct mtlm_evaluate *) arg;
    struct mtlm_evaluation e;

    one.hop += more;
    one.hold = share;
    e = mtlm_evaluate(&one);
    mtlm_evaluation_free(&e);
    return e.makespan_s;
}

double mtlm_hold_choose(const struct mtlm_evaluate *pipeline, double *seconds)
{
    struct shares_of s = {.evaluate = evaluate_pipeline,
                          .arg = (void *) pipeline,
                          .forward = mtlm_evaluate_shortest_forward(pipeline)};

    return choose_share(&s, seconds);
}

/* ---- programs ---- */

/* An iteration of more tasks is evaluated with so many microbatches per
 * pipeline rank. */
enum { MANY_TASKS = 100000, ENOUGH = 2 };

struct programs {
    struct mtlm_pipeline_programs pipeline;
    double more_s; /* that a message takes */
};

static double item_seconds(void *arg, const struct mtlm_program *program,
                           const struct mtlm_item *item, int iteration)
{
    struct programs *p = arg;
    const double seconds =
        mtlm_pipeline_programs_seconds(&p->pipeline, program, item, iteration);

    return item->node->call.kind == MTLM_OP_SEND ? seconds + p->more_s
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

static double evaluate_programs(void *arg, double share, double more)
{
    struct programs *p = arg;
    struct mtlm_execution run;

    p->more_s = more;
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
    share = choose_share(
        &(struct shares_of){.evaluate = evaluate_programs,
                            .arg = &p,
                            .forward = forward_seconds(&p.pipeline)},
        NULL);
    mtlm_pipeline_programs_free(&p.pipeline);
    return share;
}
