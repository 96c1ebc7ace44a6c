#ifndef MTLM_BYTE_BPE_H
#define MTLM_BYTE_BPE_H

#include "models/text/added_tokens.h"
#include "models/text/merges.h"
#include "models/text/tokenizer.h"

/* Byte-level byte-pair encoding, whatever file has the tokens.
 *
 * Encoding.  A word begins as its bytes, one token each.  Of all pairs of
 * neighbours, the first of the merges becomes one token wherever it occurs,
 * from left to right; repeated until no pair is left. */
struct mtlm_byte_bpe {
    struct mtlm_tokenizer tokenizer;
    struct mtlm_vocabulary vocabulary; /* in the characters of the file */
    struct mtlm_merges merges;
    struct mtlm_added_tokens added; /* found in text before words */

    /* Returns the bytes of the first word of text [bytes >= 1]; more: after
     * text comes something that is not white space. */
    int64_t (*next)(const struct mtlm_byte_bpe *bpe, const char *text,
                    int64_t bytes, bool more);
    struct mtlm_bloom_class *bloom; /* of a BLOOM's words; NULL: GPT-2's */

    /* private */
    int32_t byte[256]; /* the token of a byte */
    char *text;        /* the bytes of token i begin at vocabulary.begin[i] */
    int32_t *length;   /* [tokens] bytes of each token */
};

/* Returns a new encoding with that name, and GPT-2's words
 * (models/text/gpt2_words.h).  The caller sets vocabulary and calls
 * mtlm_byte_bpe_find_bytes(), then sets merges, added, and the tokenizer's hash
 * and eod.  mtlm_tokenizer_close() frees all. */
struct mtlm_byte_bpe *mtlm_byte_bpe_create(const char *name);

/* Frees the encoding, as mtlm_tokenizer_close() does. */
void mtlm_byte_bpe_destroy(struct mtlm_byte_bpe *bpe);

/* Looks up the tokens of bytes in the vocabulary, which path holds.
 * MTLM_EXIT_INPUT: a byte has no token. */
int mtlm_byte_bpe_find_bytes(struct mtlm_byte_bpe *bpe, const char *path,
                             struct mtlm_error *err);

#endif /* MTLM_BYTE_BPE_H */
