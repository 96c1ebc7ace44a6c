#ifndef MTLM_MICROBATCH_VALUES_H
#define MTLM_MICROBATCH_VALUES_H

#include "graph/run/run.h"

/* Returns the values of a tensor of a microbatch as floats, within a call of
 * mtlm_run_on_validated().  The caller frees them. */
mtlm_real *mtlm_microbatch_values(struct mtlm_run *run,
                                  const struct mtlm_tensor *tensor,
                                  int64_t microbatch);

#endif /* MTLM_MICROBATCH_VALUES_H */
