#ifndef MTLM_TRACED_ORDER_H
#define MTLM_TRACED_ORDER_H

#include "launch/trace/trace.h"
#include "runtime/base/error.h"

/* The order of F, B and W that a run had (graph/order/order_write.h). */

/* Writes to path the order of the last traced iteration.  record [n] are the
 * run's.  Of each pipeline rank, the first rank of the job counts.  A pass
 * starts with its first computation in a layer, in the lane of the worker that
 * runs this computation; passes stand in the order of their starts.  Returns 0,
 * or -1 with err: no whole iteration is traced, or the file cannot be
 * written. */
int mtlm_traced_order_write(const char *path,
                            const struct mtlm_trace_info *info,
                            const struct mtlm_record *record, size_t n,
                            struct mtlm_error *err);

#endif /* MTLM_TRACED_ORDER_H */
