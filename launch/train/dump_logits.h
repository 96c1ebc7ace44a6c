#ifndef MTLM_DUMP_LOGITS_H
#define MTLM_DUMP_LOGITS_H

/* --dump-logits: the logits of a validation, one file per rank of the last
 * stage. */

#include "launch/job/job.h"

struct mtlm_logits;

/* Collects the logits of the next validation.  NULL: this rank writes none. */
struct mtlm_logits *mtlm_logits_begin(struct mtlm_job *job);

/* Writes the file if the validation was whole.  Frees logits; NULL is fine.
 * -1 and MTLM_EXIT_IO. */
int mtlm_logits_end(struct mtlm_logits *logits, bool whole,
                    struct mtlm_error *err);

#endif /* MTLM_DUMP_LOGITS_H */
