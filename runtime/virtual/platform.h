#ifndef MTLM_VIRTUAL_PLATFORM_H
#define MTLM_VIRTUAL_PLATFORM_H

/* The machine that StarPU with SimGrid reads: a host for each worker. */

#include "runtime/base/error.h"

/* The name that STARPU_HOSTNAME must have. */
#define MTLM_VIRTUAL_HOST "mtlm"

/* Writes a machine of n workers to the directory, the value of
 * STARPU_PERF_MODEL_DIR.  Source of the files and their names: StarPU's manual,
 * "Debugging with SimGrid". */
int mtlm_virtual_platform_write(const char *directory, int workers,
                                struct mtlm_error *err);

#endif /* MTLM_VIRTUAL_PLATFORM_H */
