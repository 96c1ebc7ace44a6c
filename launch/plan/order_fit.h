#ifndef MTLM_ORDER_FIT_H
#define MTLM_ORDER_FIT_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* Whether the activations of an order, of --schedule-file or published, fit
 * into memory.  Refusals (MTLM_EXIT_USAGE) name rank, column and action. */

/* Refuses an order whose slots take more than --act-mem.  The config has the
 * order and its activation memory. */
int mtlm_order_fit_act_mem(const struct mtlm_options *options,
                           const struct mtlm_program_config *config,
                           struct mtlm_error *err);

/* Refuses an order whose slots take more memory than the machines have, or the
 * GPUs.  Ranks of a machine get equal shares; what a rank does not need goes to
 * the others.  Returns 0 if the job fits, has no such order, or lacks memory
 * even with one slot per stage. */
int mtlm_order_fit_machines(const struct mtlm_options *options,
                            const struct mtlm_wish *wish,
                            const struct mtlm_hosts *hosts,
                            const struct mtlm_choice *choice,
                            struct mtlm_error *err);

#endif /* MTLM_ORDER_FIT_H */
