#ifndef MTLM_BERT_VOCAB_H
#define MTLM_BERT_VOCAB_H

#include <stdbool.h>
#include <stdint.h>

/* A vocabulary, as BERT samples need it.  A tokenizer that needs more to find
 * words embeds struct mtlm_bert_vocab in its own struct. */
struct mtlm_bert_vocab {
    int64_t size;                /* number of tokens, special tokens included */
    int32_t cls, sep, mask, pad; /* the tokens [CLS], [SEP], ... */
    int32_t ordinary;            /* random replacements are 0 .. ordinary - 1 */

    /* Whether token continues the word of the token before.  Any number of
     * threads at a time. */
    bool (*continues)(const struct mtlm_bert_vocab *vocab, int32_t before,
                      int32_t token);
};

#endif /* MTLM_BERT_VOCAB_H */
