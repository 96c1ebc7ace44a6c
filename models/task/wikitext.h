#ifndef MTLM_WIKITEXT_H
#define MTLM_WIKITEXT_H

/* WikiText-103 as Megatron-LM v2.6 evaluates a GPT on it: the whole file,
 * detokenized, in windows. */

#include "models/task/scored_text.h"
#include "models/text/tokenizer.h"

/* Reads the file at path.  A window has seq_length tokens to predict.  The next
 * window begins `overlap` tokens later, 1 <= overlap <= seq_length, and scores
 * its last `overlap` predictions only: those that no earlier window scored.  So
 * each token but the first is scored once, with much context if overlap is
 * small.  NULL and MTLM_EXIT_INPUT or MTLM_EXIT_IO: the file is unreadable, is
 * not UTF-8, or has fewer than two tokens. */
struct mtlm_scored_text *mtlm_wikitext_read(
    const struct mtlm_tokenizer *tokenizer, const char *path,
    int64_t seq_length, int64_t overlap, struct mtlm_error *err);

#endif /* MTLM_WIKITEXT_H */
