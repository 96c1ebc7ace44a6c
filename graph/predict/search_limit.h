#ifndef MTLM_GRAPH_SEARCH_LIMIT_H
#define MTLM_GRAPH_SEARCH_LIMIT_H

/* The pipelines whose orders --schedule auto searches. */

#include "graph/build/program.h"

/* Orders of pipelines with more boxes are not searched. */
enum { MTLM_SEARCH_LIMIT_BOXES = 100000 };

/* Returns whether orders of config's pipeline are searched: it has several
 * ranks, one worker on each, and not too many boxes. */
bool mtlm_search_limit_takes(const struct mtlm_program_config *config);

/* Returns whether orders of any of the kinds are searched
 * (graph/predict/stage_kind.h). */
bool mtlm_search_limit_takes_any(const struct mtlm_program_config *config,
                                 unsigned kinds);

/* Returns whether one of the kinds is not searched for its many boxes alone,
 * and sets *one to config with the stages of the first such kind. */
bool mtlm_search_limit_skips(const struct mtlm_program_config *config,
                             unsigned kinds, struct mtlm_program_config *one);

#endif /* MTLM_GRAPH_SEARCH_LIMIT_H */
