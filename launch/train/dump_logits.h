#ifndef MTLM_DUMP_LOGITS_H
#define MTLM_DUMP_LOGITS_H

/* --dump-logits: the logits of a validation, one file per rank of the last
 * stage. */

#include "launch/job/job.h"

struct mtlm_logits;

/* Begins to collect the logits of the next validation.  Returns NULL if this
 * rank writes none.  mtlm_logits_end() frees the result. */
struct mtlm_logits *mtlm_logits_begin(struct mtlm_job *job);

/* Writes the file if whole: the validation was complete.  Frees logits; NULL is
 * allowed.  On failure, returns -1 and sets *err (MTLM_EXIT_IO). */
int mtlm_logits_end(struct mtlm_logits *logits, bool whole,
                    struct mtlm_error *err);

#endif /* MTLM_DUMP_LOGITS_H */
