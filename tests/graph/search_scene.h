#ifndef MTLM_TESTS_SEARCH_SCENE_H
#define MTLM_TESTS_SEARCH_SCENE_H

/* An unequal pipeline for tests of the search. */

#include "tests/graph/small.h"

enum { SEARCH_SCENE_LAYERS = 16 };

/* Four ranks, the second of which is slow, slow messages.  v > 1: placement V.
 * Sets times, which config borrows and mtlm_stage_times_free() frees. */
struct mtlm_program_config search_scene_create(struct mtlm_stage_times *times,
                                               int v);

/* The memory of two microbatches on the fullest stage. */
double search_scene_two(const struct mtlm_program_config *config);

/* The seconds of an iteration, as the search counts them. */
double search_scene_seconds(const struct mtlm_program_config *config);

#endif /* MTLM_TESTS_SEARCH_SCENE_H */
