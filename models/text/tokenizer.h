#ifndef MTLM_TOKENIZER_H
#define MTLM_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "models/text/bert_vocab.h"
#include "models/text/word_cache.h"
#include "runtime/base/error.h"

/* What turns text into tokens.  Does not change once it is there: any number
 * of threads may call it, each with a cache of its own. */
struct mtlm_tokenizer {
    const char *name; /* as --tokenizer-type has it */
    int64_t vocab_size;
    int32_t eod;   /* the token at the end of a document */
    uint64_t hash; /* of the tokens and merges of its files; 0: it has none */
    const struct mtlm_bert_vocab *bert; /* NULL: a BERT cannot use it */

    /* Writes the tokens of bytes of text (any bytes) to tokens, which has
     * room for as many.  Returns how many they are.
     *
     * A text may come in parts that end where a line does and the next does
     * not begin with white space (mtlm_tokenizer_white_space()): more then says
     * that another part follows, and their tokens are those of the whole. */
    int64_t (*encode)(const struct mtlm_tokenizer *tokenizer,
                      struct mtlm_word_cache *cache, const char *text,
                      int64_t bytes, bool more, int32_t *tokens);

    void (*destroy)(struct mtlm_tokenizer *tokenizer); /* NULL: constant */
};

/* The tokenizer of that type, from the files that it needs (NULL: not given),
 * for mtlm_tokenizer_close().  NULL and MTLM_EXIT_USAGE, with the known types,
 * when there is none or when it needs other files; MTLM_EXIT_INPUT for files
 * that are not what they should be. */
const struct mtlm_tokenizer *mtlm_tokenizer_open(const char *type,
                                                 const char *vocab_file,
                                                 const char *merge_file,
                                                 struct mtlm_error *err);
void mtlm_tokenizer_close(const struct mtlm_tokenizer *tokenizer);

/* Whether text (at least a byte) begins with white space of Unicode. */
bool mtlm_tokenizer_white_space(const char *text, int64_t bytes);

#endif /* MTLM_TOKENIZER_H */
