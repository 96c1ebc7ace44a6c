#ifndef MTLM_ANSWERS_TEXT_H
#define MTLM_ANSWERS_TEXT_H

#include "launch/train/answers.h"

/* Sets score [mtlm_job_finetune_scores()], and *text to the scores of all
 * answers after `done` iterations, without a newline at the end; the caller
 * frees the text.  Data without answers have no score: *text counts the model's
 * answers then.  Writes the file of --predictions first.  -1 and MTLM_EXIT_IO:
 * the file cannot be written; the scores are set, and the text counts no answer
 * as written. */
int mtlm_answers_text(const struct mtlm_answers *answers, int64_t done,
                      char **text, double *score, struct mtlm_error *err);

#endif /* MTLM_ANSWERS_TEXT_H */
