#ifndef MTLM_ASSUMPTIONS_H
#define MTLM_ASSUMPTIONS_H

#include <stdio.h>

#include <jansson.h>

#include "launch/simulate/prediction.h"

/* Prints what a prediction assumes, a line for each assumption.  Returns -1 and
 * sets *err (MTLM_EXIT_USAGE) if the cluster file cannot be read. */
int mtlm_assumptions_print(const struct mtlm_prediction *prediction,
                           const struct mtlm_options *options, FILE *out,
                           struct mtlm_error *err);

/* Returns the same lines as an object, a new reference: sentences by name. */
json_t *mtlm_assumptions_json(const struct mtlm_prediction *prediction,
                              const struct mtlm_options *options);

#endif /* MTLM_ASSUMPTIONS_H */
