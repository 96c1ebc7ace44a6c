#ifndef MTLM_SQUAD_SCORE_H
#define MTLM_SQUAD_SCORE_H

#include "models/task/squad.h"

/* Means in per cent. */
struct mtlm_squad_mean {
    double exact, f1;
    int64_t questions;
};

/* What the official scripts of SQuAD print. */
struct mtlm_squad_scores {
    struct mtlm_squad_mean all; /* in SQuAD 2.0: without --na-prob-file */

    /* SQuAD 2.0 only; otherwise zeros */
    struct mtlm_squad_mean answerable, unanswerable;

    /* SQuAD 2.0 with differences only: the best means that a threshold gives,
     * and the threshold.  Above it a question has no answer. */
    double best_exact, best_exact_threshold, best_f1, best_f1_threshold;
};

/* Scores predictions [squad->questions].  NULL is a question without
 * prediction: 0 points in SQuAD 1.1, left out in SQuAD 2.0.  difference
 * [squad->questions]: of mtlm_squad_answer(), or NULL.  squad was read without
 * training. */
void mtlm_squad_score(const struct mtlm_squad *squad, char *const *prediction,
                      const double *difference,
                      struct mtlm_squad_scores *scores);

#endif /* MTLM_SQUAD_SCORE_H */
