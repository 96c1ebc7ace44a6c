#ifndef MTLM_SPLIT_H
#define MTLM_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* Parts of the data, in the order of --split. */
enum mtlm_split { MTLM_TRAIN, MTLM_VALID, MTLM_TEST, MTLM_SPLITS };

/* Divides documents by text such as "969, 30, 1": one to three weights, of
 * training, validation and test, separated by ',' or '/'.  Split i is documents
 * bound[i] .. bound[i + 1] - 1.  Rounding is that of Megatron-LM before core:
 * core may place one document otherwise.  MTLM_EXIT_USAGE: text is no list of
 * weights. */
int mtlm_split_parse(const char *text, int64_t documents,
                     int64_t bound[MTLM_SPLITS + 1], struct mtlm_error *err);

/* Returns whether text gives a split a share, which rounding may leave without
 * documents.  text must be a list of weights. */
bool mtlm_split_shares(const char *text, enum mtlm_split split);

struct mtlm_indexed_dataset;

/* Divides a data set that has too few documents by the positions of tokens
 * instead: cuts its documents at the bounds (mtlm_indexed_dataset_cut()) and
 * writes the documents of the splits to bound.  sentences: cuts between
 * sentences only.  text must be a list of weights. */
void mtlm_split_cut(const char *text, struct mtlm_indexed_dataset *dataset,
                    bool sentences, int64_t bound[MTLM_SPLITS + 1]);

#endif /* MTLM_SPLIT_H */
