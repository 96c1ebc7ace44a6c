#ifndef MTLM_PREDICTION_TABLE_H
#define MTLM_PREDICTION_TABLE_H

#include <stdio.h>

#include "launch/simulate/prediction.h"
#include "launch/simulate/shorter.h"

/* Prints the job, the prediction, what is shorter, and every assumption by
 * name.  Returns -1 and sets *err (MTLM_EXIT_USAGE) if the cluster file cannot
 * be read again. */
int mtlm_prediction_table_print(const struct mtlm_prediction *prediction,
                                const struct mtlm_shorter *shorter,
                                const struct mtlm_options *options, FILE *out,
                                struct mtlm_error *err);

#endif /* MTLM_PREDICTION_TABLE_H */
