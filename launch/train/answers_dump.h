#ifndef MTLM_ANSWERS_DUMP_H
#define MTLM_ANSWERS_DUMP_H

/* --dump-logits of a fine-tuned model: what its head computes, one file per
 * rank that collects answers.  launch/train/answers_dump.c describes the file.
 */

#include "launch/job/job.h"

struct mtlm_answers_dump;

/* Returns an empty dump, which borrows job; NULL without --dump-logits. */
struct mtlm_answers_dump *mtlm_answers_dump_create(struct mtlm_job *job);

/* Adds the logits of a pair, of a question's choices, or of the begins and ends
 * of a window: [n] each.  sample: the first one.  dump may be NULL. */
void mtlm_answers_dump_add(struct mtlm_answers_dump *dump, int64_t sample,
                           const mtlm_real *logit, int64_t n,
                           const mtlm_real *end);

/* Writes the file.  Does nothing for NULL.  -1 and MTLM_EXIT_IO. */
int mtlm_answers_dump_write(const struct mtlm_answers_dump *dump,
                            struct mtlm_error *err);

/* Frees the dump; NULL is allowed. */
void mtlm_answers_dump_destroy(struct mtlm_answers_dump *dump);

#endif /* MTLM_ANSWERS_DUMP_H */
