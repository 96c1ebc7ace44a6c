#ifndef MTLM_TESTS_EXECUTION_H
#define MTLM_TESTS_EXECUTION_H

#include "graph/predict/evaluate_program.h"
#include "tests/graph/small.h"

/* What graph/predict/evaluate_program.h makes of small programs when the nodes
 * of F, of B and of W of a stage last one unit of time together, and messages
 * none. */

enum { EXECUTION_UNIT_NS = 100000 };

/* Iterations 0 .. iterations - 1 of training.  mtlm_execution_free() frees
 * it. */
struct mtlm_execution execution_run(const struct small_ranks *ranks,
                                    int iterations);

#endif /* MTLM_TESTS_EXECUTION_H */
