#ifndef MTLM_GENERATE_TEXT_H
#define MTLM_GENERATE_TEXT_H

#include "launch/job/job.h"

/* The texts of all sequences, in the order of their numbers.  The first rank of
 * each replica keeps those of its replica.  Rank 0 prints the text of the first
 * unfinished sequence while the text grows; texts behind it wait. */
struct mtlm_generate_text;

/* Returns NULL on ranks that keep no text.  Borrows job.  The caller frees the
 * result with mtlm_generate_text_destroy(). */
struct mtlm_generate_text *mtlm_generate_text_create(
    const struct mtlm_job *job);

/* Frees the texts; NULL is allowed. */
void mtlm_generate_text_destroy(struct mtlm_generate_text *text);

/* Adds a token to a sequence.  Does nothing for NULL. */
void mtlm_generate_text_add(struct mtlm_generate_text *text, int64_t sequence,
                            int32_t token);

/* Ends a sequence.  Does nothing for NULL. */
void mtlm_generate_text_end(struct mtlm_generate_text *text, int64_t sequence);

/* Brings the texts of other replicas to rank 0, which prints them.  Collective,
 * without engine; text is NULL on ranks that keep no text. */
void mtlm_generate_text_gather(struct mtlm_generate_text *text,
                               struct mtlm_job *job);

#endif /* MTLM_GENERATE_TEXT_H */
