#ifndef MTLM_PROMPTS_H
#define MTLM_PROMPTS_H

#include "models/text/tokenizer.h"
#include "runtime/base/sample.h"

/* Prompts to continue: one text, or the lines of a file, as tokens.  Each
 * prompt begins `samples` sequences: sequence i continues prompt i / samples.
 */
struct mtlm_prompts {
    /* Sample i has the tokens of sequence i; 0 after the last one. */
    struct mtlm_samples source;
    int64_t sequences;
    int64_t longest; /* tokens of the longest prompt */
    uint64_t hash;   /* of all tokens */

    /* private */
    int64_t prompts, samples;
    int64_t *begin; /* [prompts + 1]: prompt i is token[begin[i]] .. */
    int32_t *token;
    int32_t first; /* of an empty prompt */
    bool *empty;   /* [prompts] */
};

/* Returns the prompt `text`, any bytes.  An empty text becomes the token
 * `begin`: what follows begins a document.  The caller destroys the
 * prompts. */
struct mtlm_prompts *mtlm_prompts_create(const struct mtlm_tokenizer *tokenizer,
                                         int32_t begin, const char *text,
                                         int64_t samples);

/* Returns the lines of a file as prompts, without the ends of lines.  NULL:
 * MTLM_EXIT_INPUT for a file without a line or larger than 64 MiB,
 * MTLM_EXIT_IO for one that cannot be read. */
struct mtlm_prompts *mtlm_prompts_read(const struct mtlm_tokenizer *tokenizer,
                                       int32_t begin, const char *path,
                                       int64_t samples, struct mtlm_error *err);

/* Frees the prompts; NULL is allowed. */
void mtlm_prompts_destroy(struct mtlm_prompts *prompts);

/* Returns the tokens with which the sequence begins, and their number, at least
 * 1.  The prompts own the tokens. */
const int32_t *mtlm_prompts_tokens(const struct mtlm_prompts *prompts,
                                   int64_t sequence, int64_t *n);

/* Whether the prompt of the sequence has no text. */
bool mtlm_prompts_empty(const struct mtlm_prompts *prompts, int64_t sequence);

#endif /* MTLM_PROMPTS_H */
