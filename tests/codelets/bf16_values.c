#include "config.h"

#include "runtime/base/memory.h"
#include "runtime/base/value16.h"
#include "tests/codelets/bf16_values.h"
#include "tests/codelets/support.h"

uint16_t *new_bf16(int64_t n, uint64_t seed, float **wide)
{
    uint16_t *values = mtlm_calloc(n, sizeof(*values));

    *wide = new_normal(n, seed);
    mtlm_value16_round(MTLM_BF16, *wide, n, values);
    mtlm_value16_widen(MTLM_BF16, values, n, *wide);
    return values;
}
