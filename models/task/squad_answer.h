#ifndef MTLM_SQUAD_ANSWER_H
#define MTLM_SQUAD_ANSWER_H

#include "models/task/span.h"

/* Returns the text that answers a question, of the spans [question->windows] of
 * its windows; the caller frees the text.  squad was read without training.
 *
 * *difference is the sum of the logits of no answer minus the sum of those of
 * the answer.  In SQuAD 2.0 the text is empty if the difference is above
 * threshold.  Without any possible answer the text is "empty", with logits of
 * 0, as in google-research/bert. */
char *mtlm_squad_answer(const struct mtlm_squad *squad, int64_t question,
                        const struct mtlm_span *span, double threshold,
                        double *difference);

#endif /* MTLM_SQUAD_ANSWER_H */
