/* The hold rule's share, by evaluation of the candidates. */

#include "config.h"

#include <math.h>
#include <stddef.h>

#include "graph/build/offload.h"
#include "graph/order/rounding.h"
#include "graph/predict/hold.h"
#include "graph/predict/late.h"
#include "graph/predict/limits.h"
#include "graph/predict/pipeline_programs.h"
#include "runtime/machine/plugin.h"

/* Of equal shares, the first one wins. */
static const double shares[] = {0.5, 0.25, 1, 0};

enum { SHARES = sizeof(shares) / sizeof(shares[0]) };

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

        if (given > most * (1 + MTLM_SECONDS_ROUNDING))
            continue;
        s->share = shares[i];
        late = mtlm_late_seconds(evaluate_late, s, s->forward);
        if (late >= least * (1 - MTLM_SECONDS_ROUNDING))
            continue;
        least = late;
        share = shares[i];
        if (seconds)
            *seconds = given;
    }
    return share;
}

/* ---- pipelines ---- */

/* All messages are late alike, as in evaluate_programs(). */
static double evaluate_pipeline(void *arg, double share, double more)
{
    struct mtlm_evaluate one = *(const struct mtlm_evaluate *) arg;

    one.hop += more;
    one.hold = share;
    return mtlm_evaluate_seconds(&one);
}

double mtlm_hold_choose(const struct mtlm_evaluate *pipeline, double *seconds)
{
    struct shares_of s = {.evaluate = evaluate_pipeline,
                          .arg = (void *) pipeline,
                          .forward = mtlm_evaluate_shortest_forward(pipeline)};
    double given;

    if (mtlm_plugin_hold_share(&given)) {
        if (seconds)
            *seconds = evaluate_pipeline((void *) pipeline, given, 0);
        return given;
    }
    return choose_share(&s, seconds);
}

/* ---- programs ---- */

/* The shares for an iteration of more nodes are compared with so many
 * microbatches per pipeline rank. */
enum { SHARES_NODES = 100000, ENOUGH = 2 };

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
    struct mtlm_pipeline_programs *p = arg;

    p->more_s = more;
    return mtlm_pipeline_programs_makespan(p, share);
}

/* Returns the best share for the programs of config. */
static double choose_for(const struct mtlm_program_config *config,
                         const struct mtlm_stage_cost *machine)
{
    struct mtlm_pipeline_programs p =
        mtlm_pipeline_programs_create(config, machine->cluster);
    double share;

    mtlm_pipeline_programs_slow(&p, machine);
    share = choose_share(&(struct shares_of){.evaluate = evaluate_programs,
                                             .arg = &p,
                                             .forward = forward_seconds(&p)},
                         NULL);
    mtlm_pipeline_programs_free(&p);
    return share;
}

/* Returns the best share for the first microbatches of config. */
static double choose_for_first(const struct mtlm_program_config *config,
                               const struct mtlm_stage_cost *machine,
                               int microbatches)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);
    struct mtlm_program_config one = *config;
    struct mtlm_box_order first;
    double share;

    one.microbatches = microbatches;
    if (config->order) {
        first = mtlm_order_first(config->order, &boxes, microbatches);
        one.order = &first;
    }
    share = choose_for(&one, machine);
    if (config->order)
        mtlm_order_free(&first);
    return share;
}

/* Whether the share lengthens the programs of config. */
static bool lengthens(const struct mtlm_program_config *config,
                      const struct mtlm_stage_cost *machine, double share)
{
    struct mtlm_pipeline_programs p =
        mtlm_pipeline_programs_create(config, machine->cluster);
    bool longer;

    mtlm_pipeline_programs_slow(&p, machine);
    longer =
        mtlm_pipeline_programs_makespan(&p, share)
        > mtlm_pipeline_programs_makespan(&p, 0) * (1 + MTLM_SECONDS_ROUNDING);
    mtlm_pipeline_programs_free(&p);
    return longer;
}

double mtlm_hold_choose_program(const struct mtlm_program_config *config,
                                const struct mtlm_stage_cost *machine)
{
    const int64_t enough = ENOUGH * config->layout.pp;
    const int64_t nodes = mtlm_pipeline_programs_nodes(config);
    double share;

    if (mtlm_plugin_hold_share(&share))
        return share;
    if (config->microbatches <= enough
        || config->microbatches * nodes <= SHARES_NODES)
        return choose_for(config, machine);
    share = choose_for_first(config, machine, enough);
    return share > 0 && lengthens(config, machine, share) ? 0 : share;
}

double mtlm_hold_alone(const struct mtlm_program_config *config)
{
    double share = 0.25;

    if (config->layout.tp == 1 && config->layout.dp == 1
        && !mtlm_offload_streams(config))
        return 0;
    mtlm_plugin_hold_share(&share);
    return share;
}

double mtlm_hold_searched(void)
{
    double share = MTLM_HOLD_SHARE;

    mtlm_plugin_hold_share(&share);
    return share;
}

int mtlm_hold_searched_shares(const struct mtlm_program_config *config,
                              bool waits, double share[MTLM_HOLD_SEARCHED])
{
    int n = 0;

    waits = waits && !mtlm_program_is_chained(config);
    if (!waits || !mtlm_plugin_hold_share(&share[0]))
        share[n++] = 0;
    if (waits)
        share[n++] = mtlm_hold_searched();
    return n;
}
