#ifndef MTLM_JITTER_FILE_H
#define MTLM_JITTER_FILE_H

#include "graph/predict/noise.h"
#include "runtime/base/error.h"

/* Returns the factors of the file path of --jitter-file: a CSV table with the
 * columns iteration, replica, stage, microbatch, pass (F, B or W) and factor.
 * Numbers begin with 0; each combination has one line, in any order.  The
 * caller frees the table with mtlm_noise_table_free().  NULL with
 * MTLM_EXIT_USAGE and a sentence with file and line, or with the first pass
 * that has no line. */
struct mtlm_noise_table *mtlm_jitter_file_read(const char *path,
                                               struct mtlm_error *err);

#endif /* MTLM_JITTER_FILE_H */
