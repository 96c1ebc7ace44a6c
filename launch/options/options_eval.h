#ifndef MTLM_OPTIONS_EVAL_H
#define MTLM_OPTIONS_EVAL_H

#include "launch/options/options.h"

/* --eval-only. */

/* With --eval-only: refuses options that contradict it, and missing options
 * that it requires.  Clears options that only training uses. */
int mtlm_options_eval_resolve(struct mtlm_options *options,
                              struct mtlm_error *err);

/* Refuses more logits of --dump-logits than should fit into memory: ranks
 * collect the logits of all eval_iters batches. */
int mtlm_options_eval_check_logits(const struct mtlm_options *options,
                                   struct mtlm_error *err);

#endif /* MTLM_OPTIONS_EVAL_H */
