#ifndef MTLM_PREDICTION_JSON_H
#define MTLM_PREDICTION_JSON_H

#include <jansson.h>

#include "launch/simulate/prediction.h"

/* Returns the prediction as an object for --metrics, a new reference.  Seconds,
 * bytes and shares; null: unknown.  assumptions: an object, whose reference the
 * result takes. */
json_t *mtlm_prediction_json(const struct mtlm_prediction *prediction,
                             json_t *assumptions);

#endif /* MTLM_PREDICTION_JSON_H */
