#ifndef MTLM_TRAIN_LOG_H
#define MTLM_TRAIN_LOG_H

#include "launch/job.h"

/* What a training run prints as it goes, and what it keeps for that between
 * two lines.  All ranks keep it, the last one prints, as in Megatron-LM. */
struct mtlm_train_log {
    const struct mtlm_job *job;
    bool prints;
    int64_t end;      /* iteration after which the run ends, at the latest */
    int64_t start_ns; /* of the first iteration */
    int64_t last_ns;  /* when the last line was printed */
    int64_t eval_ns, all_eval_ns; /* in validations, since then and in all */
    int64_t evals;                /* how many */
    double loss[MTLM_LOSS_COUNT]; /* sums over the steps since the last line */
    int64_t iterations, steps;    /* since then */
    double samples, all_samples;  /* since then and in all */
    double skipped, nan;          /* in all, at the last line */
};

/* The first iteration begins now. */
void mtlm_train_log_start(struct mtlm_train_log *log,
                          const struct mtlm_job *job);

/* An iteration is done, of which this is the report (enum
 * mtlm_control_slot). */
void mtlm_train_log_add(struct mtlm_train_log *log,
                        const double report[MTLM_CONTROL_COUNT]);

/* The line about the iterations since the last one, of which the last gave
 * this report and, where it is computed, this norm of the weights. */
void mtlm_train_log_line(struct mtlm_train_log *log,
                         const double report[MTLM_CONTROL_COUNT],
                         double params_norm);

/* The lines about a validation or test that took so long, where being
 * "iteration 100" (enum mtlm_status_slot). */
void mtlm_train_log_validation(struct mtlm_train_log *log, const char *where,
                               const double report[MTLM_STATUS_EXTRA],
                               int64_t ns);

#endif /* MTLM_TRAIN_LOG_H */
