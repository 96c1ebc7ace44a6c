#ifndef MTLM_OPTIONS_BOUND_H
#define MTLM_OPTIONS_BOUND_H

#include "launch/options/options.h"

/* Refuses --modes-out without a plan or without times; --bound lp without a
 * plan, without times and without GLPK; --bound-out without --bound lp.  -1
 * with MTLM_EXIT_USAGE. */
int mtlm_options_bound_check(const struct mtlm_options *options,
                             struct mtlm_error *err);

#endif /* MTLM_OPTIONS_BOUND_H */
