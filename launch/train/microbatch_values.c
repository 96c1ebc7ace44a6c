/* Values of a validation's tensors, of any type, as floats. */

#include "config.h"

#include <stdlib.h>

#include "launch/train/microbatch_values.h"
#include "runtime/base/memory.h"
#include "runtime/base/value16.h"

mtlm_real *mtlm_microbatch_values(struct mtlm_run *run,
                                  const struct mtlm_tensor *tensor,
                                  int64_t microbatch)
{
    const int64_t n = mtlm_tensor_elems(tensor);
    mtlm_real *values = mtlm_calloc(n, sizeof(*values));
    uint16_t *narrow;

    if (tensor->dtype == MTLM_REAL) {
        mtlm_run_read_microbatch(run, tensor, microbatch, values);
        return values;
    }
    narrow = mtlm_calloc(n, sizeof(*narrow));
    mtlm_run_read_microbatch(run, tensor, microbatch, narrow);
    mtlm_value16_widen(tensor->dtype, narrow, n, values);
    free(narrow);
    return values;
}
