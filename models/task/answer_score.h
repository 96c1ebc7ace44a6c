#ifndef MTLM_ANSWER_SCORE_H
#define MTLM_ANSWER_SCORE_H

#include <stdbool.h>
#include <stdint.h>

/* Compares a prediction with the right answers of a question.  *exact is 1 if
 * one is equal after normalization, else 0.  *f1 is the best harmonic mean of
 * precision and recall, in words.
 *
 * negative: as in SQuAD 2.0.  Answers that normalize to nothing do not count; a
 * question without answers has the answer "".  Where the answer or the
 * prediction has no words, F1 is whether both have none. */
void mtlm_answer_score(const char *prediction, char *const *answer,
                       int64_t answers, bool negative, double *exact,
                       double *f1);

#endif /* MTLM_ANSWER_SCORE_H */
