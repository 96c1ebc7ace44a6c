#ifndef MTLM_SECOND_PLAN_H
#define MTLM_SECOND_PLAN_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* A second plan for a running job, from measured times.  Virtual stages and
 * placement stay.  Windows, slots of gradients and the order are made as by
 * --stage-times.  Layers may move from rank to rank. */
struct mtlm_second_plan {
    /* The part of the options that a plan sets: times, order, schedule_mode,
     * layers_of_stage.  The plan owns times, order and, if it moves layers,
     * layers_of_stage; everything else is borrowed. */
    struct mtlm_options options;
    struct mtlm_wish wish;
    bool moves; /* layers move: layers_of_stage has those of each stage */
    /* Seconds of F, B and W of an iteration by the measured times, under the
     * policy of the run: of the program, and of the second plan. */
    double old_s, new_s;
};

/* The job whose plan is made again.  Everything is borrowed. */
struct mtlm_first_plan {
    const struct mtlm_options *options;
    const struct mtlm_wish *wish;
    const struct mtlm_choice *choice;
    const struct mtlm_program *program; /* of any rank of the job */
};

/* Sets *plan from the measured times, which the plan takes over, and returns 0.
 * No layer moves.  Returns -1 and sets nothing but *err where there is no such
 * plan; frees the times. */
int mtlm_second_plan_make(const struct mtlm_first_plan *first,
                          struct mtlm_stage_times *times,
                          struct mtlm_second_plan *plan,
                          struct mtlm_error *err);

/* Returns whether layers may move: no option gives layers or windows of stages,
 * and each rank has all moments of its layers. */
bool mtlm_second_plan_may_move(const struct mtlm_first_plan *first);

/* Sets *moved to the plan that also moves layers
 * (graph/predict/layer_balance.h), and returns true, if that plan is worth its
 * moves.  The plan must be 2 % shorter than both others: the times with other
 * layers are predicted, weights and memory move, too.  plan: without moves,
 * with the measured times of all stages.  in_layers: the part of the times in
 * layers.  Returns false and sets nothing otherwise. */
bool mtlm_second_plan_move(const struct mtlm_first_plan *first,
                           const struct mtlm_second_plan *plan,
                           const struct mtlm_stage_times *in_layers,
                           struct mtlm_second_plan *moved);

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
