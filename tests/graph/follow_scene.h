#ifndef MTLM_TESTS_FOLLOW_SCENE_H
#define MTLM_TESTS_FOLLOW_SCENE_H

/* Pipelines of equal stages whose programs follow an order. */

#include "graph/order/walk.h"
#include "tests/graph/small.h"

enum { FOLLOW_MOST = 16, FOLLOW_RANDOM = 1000, FOLLOW_CASES = 17 };

/* An order for a program's config: of the rounds with so much memory, or random
 * from FOLLOW_RANDOM on; boxes in random lanes, one of each worker. */
struct follow_case {
    int tp, pp, virtual_stages;
    enum mtlm_placement placement;
    int microbatches, row_parts;
    int memory;
    int lanes; /* 0: one */
};

extern const struct follow_case follow_cases[FOLLOW_CASES];

/* A pipeline, its order, and the makespan of a walk of the order. */
struct follow_scene {
    struct mtlm_program_config config;
    double one[FOLLOW_MOST];
    struct mtlm_boxes boxes;
    struct mtlm_walk walk;
    struct mtlm_box_order order;
    double makespan;
    int lanes;
};

/* Makes the scene of a case, which follow_scene_free() frees. */
void follow_scene_create(struct follow_scene *s, const struct follow_case *c);

void follow_scene_free(struct follow_scene *s);

#endif /* MTLM_TESTS_FOLLOW_SCENE_H */
