#ifndef MTLM_ANSWERS_H
#define MTLM_ANSWERS_H

/* Answers of a fine-tuned model in a validation, gathered on the last rank. */

#include "launch/job/job.h"
#include "launch/train/answers_dump.h"
#include "models/task/span.h"

/* The answer to a question, or to a window of SQuAD.  Plain numbers, which
 * ranks send. */
struct mtlm_answer {
    int64_t sample; /* the question's first sample, or the window */
    int64_t choice; /* the class, or the number of the choice; -1: none, as a
                     * logit is a NaN */
    struct mtlm_span span;
};

struct mtlm_answers {
    struct mtlm_job *job;
    struct mtlm_answer *answer; /* [n] */
    int64_t n;
    struct mtlm_answers_dump *dump; /* of this rank, or NULL */
};

/* Begins to collect the answers of the next validation; NULL: the job is no
 * fine-tuning.  The caller ends with mtlm_answers_end(). */
struct mtlm_answers *mtlm_answers_begin(struct mtlm_job *job);

/* Gathers the answers of all ranks on the last one.  Returns whether this rank
 * is the last one.  Collective. */
bool mtlm_answers_gather(struct mtlm_answers *answers);

/* Frees the answers; NULL is allowed. */
void mtlm_answers_end(struct mtlm_answers *answers);

#endif /* MTLM_ANSWERS_H */
