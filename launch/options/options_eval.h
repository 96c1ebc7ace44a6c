#ifndef MTLM_OPTIONS_EVAL_H
#define MTLM_OPTIONS_EVAL_H

#include "launch/options/options.h"

/* --eval-only. */

/* Refuses what --eval-only lacks or contradicts, and leaves out what only
 * training needs. */
int mtlm_options_eval_resolve(struct mtlm_options *options,
                              struct mtlm_error *err);

#endif /* MTLM_OPTIONS_EVAL_H */
