#ifndef MTLM_BERT_DATASET_H
#define MTLM_BERT_DATASET_H

#include "models/text/bert_sample.h"
#include "models/text/indexed_dataset.h"
#include "runtime/base/error.h"
#include "runtime/base/sample.h"

/* Samples for a BERT from documents first_document .. last_document - 1 of
 * dataset, whose sequences are sentences and which must outlive them.
 *
 * A document is cut into runs of neighbouring sentences, each as short as it
 * can be with the tokens that its sample should have
 * (mtlm_bert_sample_target(), a draw for each run) and at least two sentences;
 * the last run has what is left, never a single sentence.  A document with
 * fewer than two sentences, or with one longer than MTLM_BERT_LONGEST tokens,
 * is left out.  Without the binary head one sentence is enough.
 *
 * The runs of all documents are an epoch; each epoch has them in another
 * random order and makes other samples of them (bert_sample.h; the first B
 * sentence is any but the first).  Order and samples are pure functions of
 * recipe->seed and the sample's number.  (Megatron's samples, but for the
 * generator, and for the runs, which it cuts anew in each epoch: so the
 * number of samples of an epoch is always the same, and none has to be
 * counted to find the n-th.)
 *
 * NULL and MTLM_EXIT_INPUT when the documents hold no sample; says so when
 * they are not cut into sentences at all.  Memory: 16 bytes per run. */
struct mtlm_samples *mtlm_bert_dataset_create(
    const struct mtlm_indexed_dataset *dataset, int64_t first_document,
    int64_t last_document, const struct mtlm_bert_recipe *recipe,
    struct mtlm_error *err);

enum { MTLM_BERT_LONGEST = 512 }; /* tokens of a sentence, as in Megatron */

/* Samples of an epoch, and documents that are left out. */
int64_t mtlm_bert_dataset_epoch(const struct mtlm_samples *samples);
int64_t mtlm_bert_dataset_left_out(const struct mtlm_samples *samples);

#endif /* MTLM_BERT_DATASET_H */
