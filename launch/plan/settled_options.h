#ifndef MTLM_SETTLED_OPTIONS_H
#define MTLM_SETTLED_OPTIONS_H

#include "launch/options/options.h"

/* Frees what options have of their own since they were a copy of `before`: the
 * order, times and notes of a schedule that was settled.  The copy began with
 * notes of its own, or none. */
void mtlm_settled_options_free(struct mtlm_options *settled,
                               const struct mtlm_options *before);

#endif /* MTLM_SETTLED_OPTIONS_H */
