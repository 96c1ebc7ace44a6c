/* What forward and backward of attention on bf16 values share. */

#include "config.h"

#include <string.h>

#include "codelets/attention/attention_block_bf16.h"
#include "runtime/base/value16.h"

struct mtlm_head mtlm_attention_bf16_unscaled(const struct mtlm_head *head)
{
    struct mtlm_head unscaled = *head;

    unscaled.scale = 1;
    unscaled.slope /= head->scale;
    unscaled.coefficient *= head->scale;
    return unscaled;
}

void mtlm_attention_bf16_round_row(const struct mtlm_block *b, const float *row,
                                   int64_t n, uint16_t *to)
{
    mtlm_value16_round(MTLM_BF16, row, n, to);
    memset(to + n, 0, (b->nk - n) * sizeof(*to));
}
