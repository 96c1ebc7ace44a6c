#ifndef MTLM_SPLIT_H
#define MTLM_SPLIT_H

#include <stdint.h>

#include "runtime/base/error.h"

/* Parts of the data, in the order of --split. */
enum mtlm_split { MTLM_TRAIN, MTLM_VALID, MTLM_TEST, MTLM_SPLITS };

/* Divides documents by text such as "969, 30, 1": one to three weights, of
 * training, validation and test, separated by ',' or '/'.  Split i is documents
 * bound[i] .. bound[i + 1] - 1.  Rounding is Megatron's: equal text gives equal
 * documents.  MTLM_EXIT_USAGE: text is no list of weights. */
int mtlm_split_parse(const char *text, int64_t documents,
                     int64_t bound[MTLM_SPLITS + 1], struct mtlm_error *err);

#endif /* MTLM_SPLIT_H */
