#ifndef MTLM_NCCL_H
#define MTLM_NCCL_H

/* What the rest of the program knows of NCCL, which carries collectives between
 * GPUs. */

#include <stdbool.h>

#include "runtime/base/error.h"

/* Returns whether the program is built with NCCL. */
bool mtlm_nccl_is_built_in(void);

/* Loads the library once.  Returns 0, or -1 with the loader's reason. */
int mtlm_nccl_load(struct mtlm_error *err);

/* Returns the version of the library, "2.28.9". */
const char *mtlm_nccl_version(void);

#endif /* MTLM_NCCL_H */
