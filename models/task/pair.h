#ifndef MTLM_PAIR_H
#define MTLM_PAIR_H

#include "models/text/bert_vocab.h"
#include "runtime/base/sample.h"

/* Two texts in tokens that share a sequence. */
struct mtlm_pair {
    const int32_t *a, *b; /* [a_tokens], [b_tokens], borrowed */
    int64_t a_tokens, b_tokens;
};

/* Writes values first .. first + n - 1 of TOKENS, TYPES or LENGTH of a pair's
 * sequence: [CLS] A [SEP] B [SEP], then [PAD].  Types are 1 in B and at the
 * last [SEP].  A sequence that is too long loses its end, B before A, and then
 * ends with [SEP], as in Megatron-LM.  Other fields are 0. */
void mtlm_pair_read(const struct mtlm_pair *pair,
                    const struct mtlm_bert_vocab *vocab, int64_t seq_length,
                    enum mtlm_field field, int64_t first, int64_t n,
                    int32_t *values);

#endif /* MTLM_PAIR_H */
