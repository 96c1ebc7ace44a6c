#ifndef MTLM_BYTE_TOKENIZER_H
#define MTLM_BYTE_TOKENIZER_H

#include "models/text/tokenizer.h"

/* One token per byte, which needs no files: tokens 0 .. 255 are the bytes,
 * 256 is the end of a document. */
enum { MTLM_BYTE_EOD = 256, MTLM_BYTE_VOCAB_SIZE = 257 };

extern const struct mtlm_tokenizer mtlm_tokenizer_byte; /* "byte" */

/* Writes the bytes of n tokens to text, which has room for n, without ends
 * of documents.  Returns how many they are. */
int64_t mtlm_byte_decode(const int32_t *tokens, int64_t n, char *text);

#endif /* MTLM_BYTE_TOKENIZER_H */
