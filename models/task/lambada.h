#ifndef MTLM_LAMBADA_H
#define MTLM_LAMBADA_H

/* LAMBADA as Megatron-LM v2.6 evaluates a GPT on it: the model predicts the end
 * of a passage. */

#include "models/task/scored_text.h"
#include "models/text/tokenizer.h"

/* Reads a file with an object {"text": PASSAGE} in each line; empty lines are
 * left out.  A sample scores the last token of the passage; strict: all tokens
 * of the last word, which white space cuts off before the tokenizer sees the
 * text.  A passage that is too long keeps its end.  NULL and MTLM_EXIT_INPUT or
 * MTLM_EXIT_IO, with the line: the file is unreadable or empty, a line is no
 * such object, or a passage has nothing before its end. */
struct mtlm_scored_text *mtlm_lambada_read(
    const struct mtlm_tokenizer *tokenizer, const char *path,
    int64_t seq_length, bool strict, struct mtlm_error *err);

#endif /* MTLM_LAMBADA_H */
