#ifndef MTLM_PREDICTION_JSON_H
#define MTLM_PREDICTION_JSON_H

#include <jansson.h>

#include "launch/simulate/prediction.h"

/* Returns the prediction as an object for --metrics, a new reference.  Seconds,
 * bytes and shares; null: unknown. */
json_t *mtlm_prediction_json(const struct mtlm_prediction *prediction);

#endif /* MTLM_PREDICTION_JSON_H */
