#ifndef MTLM_BERT_VOCAB_H
#define MTLM_BERT_VOCAB_H

#include <stdbool.h>
#include <stdint.h>

/* What BERT samples need to know of a vocabulary.  A tokenizer whose words
 * take more than a look at two tokens embeds it in a struct of its own. */
struct mtlm_bert_vocab {
    int64_t size;                /* all tokens, with these */
    int32_t cls, sep, mask, pad; /* what stands for [CLS], [SEP], ... */
    int32_t ordinary;            /* random replacements are 0 .. ordinary - 1 */

    /* Whether token goes on with the word that the token before it is in.
     * Any number of threads may call it. */
    bool (*continues)(const struct mtlm_bert_vocab *vocab, int32_t before,
                      int32_t token);
};

#endif /* MTLM_BERT_VOCAB_H */
