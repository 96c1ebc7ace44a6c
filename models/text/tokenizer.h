#ifndef MTLM_TOKENIZER_H
#define MTLM_TOKENIZER_H

#include <stdint.h>

#include "runtime/error.h"

/* What turns text into tokens and back.  Constant data; any number of
 * threads may call it. */
struct mtlm_tokenizer {
    const char *name; /* as --tokenizer-type has it */
    int64_t vocab_size;
    int32_t eod; /* the token at the end of a document */

    /* Writes the tokens of bytes of text (any bytes) to tokens, which has
     * room for as many.  Returns how many they are. */
    int64_t (*encode)(const char *text, int64_t bytes, int32_t *tokens);
};

/* The tokenizer of that name; NULL and MTLM_EXIT_USAGE, with the known names,
 * when there is none. */
const struct mtlm_tokenizer *mtlm_tokenizer_find(const char *name,
                                                 struct mtlm_error *err);

#endif /* MTLM_TOKENIZER_H */
