#ifndef MTLM_ENDS_H
#define MTLM_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "runtime/base/error.h"

/* Tokens that begin and end a text, as the model's config.json names them.  A
 * tokenizer names others where model and tokenizer come from two places. */

enum { MTLM_ENDS_MOST = 16 };

struct mtlm_ends {
    bool known;    /* false: the tokenizer's tokens hold */
    int64_t begin; /* if known; -1: none */
    int64_t end[MTLM_ENDS_MOST];
    int n;
};

/* Reads bos_token_id and eos_token_id of a GPT-2's config.json; path names the
 * file in errors.  Without the keys both are 50256, as in transformers
 * (configuration_gpt2.py).  Numbers of no token are left out.  MTLM_EXIT_INPUT:
 * no number, or more than MTLM_ENDS_MOST. */
int mtlm_ends_read(struct mtlm_ends *ends, const json_t *config,
                   int64_t vocab_size, const char *path,
                   struct mtlm_error *err);

/* Writes known tokens to config.json's contents, and to a checkpoint's
 * settings. */
void mtlm_ends_write(const struct mtlm_ends *ends, json_t *config);
void mtlm_ends_store(const struct mtlm_ends *ends, json_t *settings);

/* Returns the tokens of a checkpoint's settings. */
struct mtlm_ends mtlm_ends_stored(const json_t *settings);

/* Whether a text ends with the token; eod: the tokenizer's end. */
bool mtlm_ends_has(const struct mtlm_ends *ends, int64_t token, int64_t eod);

#endif /* MTLM_ENDS_H */
