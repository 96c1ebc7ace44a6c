#ifndef MTLM_TESTS_MODELS_BERT_SAMPLES_H
#define MTLM_TESTS_MODELS_BERT_SAMPLES_H

#include "models/text/bert_dataset.h"

/* Samples of a BERT over text whose tokens are numbered through the data, so
 * that each tells where it comes from.  What fails ends the test. */

enum {
    BERT_VOCAB = 60000,
    BERT_CLS = BERT_VOCAB,
    BERT_SEP,
    BERT_MASK,
    BERT_PAD,
    BERT_S = 64,             /* a sample's length */
    BERT_TARGET = BERT_S - 3 /* text in it */
};

/* Nothing masked, nothing short; and as BERT is trained. */
extern const struct mtlm_bert_recipe bert_plain, bert_usual;

/* What a test gets with these as the group's setup and teardown.  The lengths
 * of the documents' sentences stand in bert_samples.c. */
enum { BERT_DOCUMENTS = 8, BERT_RUNS = 8 /* without short samples */ };
struct bert_fixture {
    struct mtlm_indexed_dataset *set;
    struct mtlm_samples *samples; /* of bert_usual */
};
int bert_setup(void **state);
int bert_teardown(void **state);

/* Samples of all documents of set, the caller's to destroy. */
struct mtlm_samples *bert_create(struct mtlm_indexed_dataset *set,
                                 const struct mtlm_bert_recipe *recipe);

/* All fields of a sample. */
struct bert_sample {
    int32_t tokens[BERT_S], labels[BERT_S], mask[BERT_S], types[BERT_S];
    int32_t length, order;
};
struct bert_sample bert_read(struct mtlm_samples *samples, int64_t n);
bool bert_same(const struct bert_sample *a, const struct bert_sample *b);

/* The segments of a sample as its labels show them. */
struct bert_segments {
    int32_t a, b; /* first token of each */
    int a_n, b_n;
};

/* Fails unless the sample is [CLS] A [SEP] B [SEP] [PAD]..., each segment
 * being neighbouring tokens. */
struct bert_segments bert_take_apart(const struct bert_sample *r);

#endif /* MTLM_TESTS_MODELS_BERT_SAMPLES_H */
