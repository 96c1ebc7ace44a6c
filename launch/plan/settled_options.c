#include "config.h"

#include <stdlib.h>

#include "graph/order/order.h"
#include "launch/plan/settled_options.h"

void mtlm_settled_options_free(struct mtlm_options *settled,
                               const struct mtlm_options *before)
{
    if (settled->order && settled->order != before->order) {
        mtlm_order_free(settled->order);
        free(settled->order);
    }
    if (settled->times.forward != before->times.forward)
        mtlm_stage_times_free(&settled->times);
    free(settled->notes);
}
