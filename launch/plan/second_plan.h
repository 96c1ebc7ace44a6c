#ifndef MTLM_SECOND_PLAN_H
#define MTLM_SECOND_PLAN_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* A second plan for a running job, from measured times.  Layout, virtual stages
 * and placement stay, because weights lie where they are.  Windows, slots of
 * gradients and the order are made as by --stage-times. */
struct mtlm_second_plan {
    /* The part of the options that a plan sets: times, order, schedule_mode.
     * The plan owns times and order; everything else is borrowed. */
    struct mtlm_options options;
    struct mtlm_wish wish;
    /* Seconds of F, B and W of an iteration by the measured times, under the
     * policy of the run: of the program, and of the second plan. */
    double old_s, new_s;
};

/* Sets *plan from the measured times, which the plan takes over, and returns 0.
 * options, wish, choice: of the job.  program: of any rank of the job.  Returns
 * -1 and sets nothing but *err where there is no such plan; frees the times. */
int mtlm_second_plan_make(const struct mtlm_options *options,
                          const struct mtlm_wish *wish,
                          const struct mtlm_choice *choice,
                          const struct mtlm_program *program,
                          struct mtlm_stage_times *times,
                          struct mtlm_second_plan *plan,
                          struct mtlm_error *err);

/* Returns whether the second plan is shorter by half a per cent: times are
 * never exact. */
bool mtlm_second_plan_is_worth(const struct mtlm_second_plan *plan);

/* Returns how ranks follow the order of config, in words behind a comma; "": by
 * windows only, or without an order. */
const char *mtlm_second_plan_follow(const struct mtlm_program_config *config);

/* Exchanges the second plan and the plan in options and wish. */
void mtlm_second_plan_swap(struct mtlm_second_plan *plan,
                           struct mtlm_options *options,
                           struct mtlm_wish *wish);

/* Frees what the plan owns. */
void mtlm_second_plan_free(struct mtlm_second_plan *plan);

#endif /* MTLM_SECOND_PLAN_H */
