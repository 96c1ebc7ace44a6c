#ifndef MTLM_SPLIT_H
#define MTLM_SPLIT_H

#include <stdint.h>

#include "runtime/base/error.h"

enum mtlm_split { MTLM_TRAIN, MTLM_VALID, MTLM_TEST, MTLM_SPLITS };

/* Divides documents by text, such as "969, 30, 1": the weights of training,
 * validation and test, one to three of them, between ',' or '/'.  Split i is
 * documents bound[i] .. bound[i + 1] - 1.  Rounding is Megatron's, so that
 * the same text gives the same documents.  MTLM_EXIT_USAGE when text is not
 * such a list. */
int mtlm_split_parse(const char *text, int64_t documents,
                     int64_t bound[MTLM_SPLITS + 1], struct mtlm_error *err);

#endif /* MTLM_SPLIT_H */
