#ifndef MTLM_BERT_DATASET_H
#define MTLM_BERT_DATASET_H

#include "models/text/bert_sample.h"
#include "models/text/indexed_dataset.h"
#include "runtime/base/error.h"
#include "runtime/base/sample.h"

/* Returns BERT samples from documents first_document .. last_document - 1 of a
 * data set whose sequences are sentences.  The data set must outlive the
 * samples.
 *
 * A document is cut into runs of neighbouring sentences.  A run is as short as
 * its sample's target of tokens allows (mtlm_bert_sample_target(), one draw per
 * run), with at least two sentences.  The last run takes the rest, never a
 * single sentence.  A sentence of more than MTLM_BERT_LONGEST tokens is left
 * out, and divides its document: no run reaches across.  Documents and their
 * parts with fewer than two sentences are left out.  Without the binary head
 * one sentence is enough.
 *
 * The runs of all documents form an epoch.  Each epoch has another random order
 * of runs, and makes other samples from the runs (bert_sample.h).  Segment B
 * begins with a random sentence of the run, but not with the first.  Order and
 * samples are pure functions of recipe->seed and the sample's number.
 *
 * Differences from Megatron-LM: another random number generator.  Megatron-LM
 * drops a whole document for a sentence that is too long, even if the document
 * is a book.  And Megatron-LM cuts runs anew in each epoch.  Here every epoch
 * has the same number of samples, so sample n is found without counting earlier
 * ones.
 *
 * The caller destroys the samples.  If the documents give no sample, returns
 * NULL and sets *err (MTLM_EXIT_INPUT), with a hint for documents not cut into
 * sentences.  Memory: 16 bytes per run. */
struct mtlm_samples *mtlm_bert_dataset_create(
    const struct mtlm_indexed_dataset *dataset, int64_t first_document,
    int64_t last_document, const struct mtlm_bert_recipe *recipe,
    struct mtlm_error *err);

/* Sentences that are left out for more than MTLM_BERT_LONGEST tokens, and their
 * tokens. */
struct mtlm_bert_too_long {
    int64_t sentences, tokens;
};

/* Returns those of samples of mtlm_bert_dataset_create(). */
struct mtlm_bert_too_long mtlm_bert_dataset_too_long(
    const struct mtlm_samples *samples);

enum { MTLM_BERT_LONGEST = 512 }; /* tokens of a sentence, as in Megatron */

#endif /* MTLM_BERT_DATASET_H */
