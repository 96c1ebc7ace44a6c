#ifndef MTLM_TESTS_SIMULATED_H
#define MTLM_TESTS_SIMULATED_H

#include "launch/simulate/layout_search.h"

/* Returns what --simulate FILE prints for a line of options; NULL: error says
 * why (tests/launch/parse.h).  The caller frees the text. */
char *simulated(const char *file, const char *line);

/* Fails unless the numbers differ by at most that share of the second. */
void near(double have, double want, double tolerance);

/* Fails unless the words stand in the text. */
void assert_says(const char *text, const char *what);

/* Four equal stages, free messages; F, B and W of a microbatch on a rank take
 * 50 ms each. */
#define FOUR                                                                   \
    "--model gpt-tiny --num-layers 8 --seq-length 32 --micro-batch-size 1 "    \
    "--tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 "

/* Returns the path of a cluster file of the tree, until the next call. */
const char *cluster_path(const char *name);

/* Returns what --simulate prints for that cluster file of the tree and a line
 * of options.  The caller frees the text. */
char *text_of(const char *name, const char *line);

/* Returns the layouts that --simulate finds with that cluster file of the tree,
 * for a line that gives --world-size and no layout.  The caller frees the
 * search. */
struct mtlm_layout_search search_of(const char *name, const char *line);

/* Returns the object "simulation" of --metrics, with the cluster file of that
 * path, or of the tree.  The caller frees the object. */
struct json_t *numbers_on(const char *path, const char *line);
struct json_t *numbers_of(const char *name, const char *line);

/* Returns a number of the object. */
double number(const struct json_t *numbers, const char *name);

/* Returns the seconds of an iteration. */
double seconds_of(const char *name, const char *line);

#endif /* MTLM_TESTS_SIMULATED_H */
