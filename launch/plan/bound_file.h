#ifndef MTLM_BOUND_FILE_H
#define MTLM_BOUND_FILE_H

/* The proof of a bound as a file, which perf/check_bound verifies: stages and
 * multipliers, in whole numbers, then the CRC-32 of all before. */

#include "graph/predict/lp_bound.h"
#include "runtime/base/error.h"

/* Writes the proof of a bound that mtlm_lp_bound_find() found for these
 * arguments.  Returns 0, or -1 with MTLM_EXIT_IO. */
int mtlm_bound_file_write(const char *path,
                          const struct mtlm_evaluate *pipeline,
                          const struct mtlm_rank_memory *memory,
                          const struct mtlm_lp_bound *bound,
                          struct mtlm_error *err);

#endif /* MTLM_BOUND_FILE_H */
