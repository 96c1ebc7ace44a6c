#ifndef MTLM_TRAIN_LOG_H
#define MTLM_TRAIN_LOG_H

/* Log lines, metrics and progress of a training run.  All ranks keep the log;
 * the last rank prints, as in Megatron-LM. */

#include "codelets/control_slots.h"
#include "launch/job/job.h"
#include "launch/log/progress.h"
#include "launch/trace/usage.h"

/* Sums over consecutive iterations. */
struct mtlm_train_span {
    int64_t since_ns;             /* end of the previous iteration */
    int64_t eval_ns;              /* in validations and pauses, since then */
    double loss[MTLM_LOSS_COUNT]; /* sums over the steps */
    int64_t iterations, steps;
    double samples;
    struct mtlm_trace_usage traced;
    double skipped, nan; /* counters before them */
};

struct mtlm_train_log {
    const struct mtlm_job *job;
    bool prints;
    bool is_short, colour;       /* launch/log/short_line.h */
    int64_t end;                 /* last iteration of the run, at the latest */
    int64_t start_ns;            /* of the first iteration */
    int64_t deadline_ns;         /* if --exit-duration-in-mins is given */
    struct mtlm_train_span line; /* since the last line */
    struct mtlm_train_span step; /* the last iteration */
    int64_t all_eval_ns;         /* in validations */
    int64_t evals;               /* how many */
    double all_samples;
};

/* Starts the log: the first iteration starts now. */
void mtlm_train_log_start(struct mtlm_train_log *log,
                          const struct mtlm_job *job);

/* An iteration that has ended. */
struct mtlm_train_ended {
    int64_t now_ns;                 /* when its report came */
    const double *report;           /* enum mtlm_control_slot */
    double params_norm;             /* -1: not computed */
    struct mtlm_trace_usage traced; /* zero: not recorded */
    bool line_due;
};

/* Adds an iteration: writes its metrics (launch/log/metrics.h), and the log
 * line when it is due. */
void mtlm_train_log_add(struct mtlm_train_log *log,
                        const struct mtlm_train_ended *ended);

/* Writes the lines and metrics of a validation after so many iterations.  on:
 * "" or " on test set".  report: by enum mtlm_status_slot.  ns: duration of the
 * validation; 0: an earlier result is logged again, in Megatron's format
 * only. */
void mtlm_train_log_validation(struct mtlm_train_log *log, int64_t iterations,
                               const char *on,
                               const double report[MTLM_STATUS_EXTRA],
                               int64_t ns);

/* Returns the seconds until --exit-duration-in-mins, which must be given; less
 * than 0: it is over. */
double mtlm_train_log_time_left(const struct mtlm_train_log *log);

/* Prints text and a newline on the last rank; frees text.  A job whose reader
 * has left ends as after a signal. */
void mtlm_train_log_text(const struct mtlm_train_log *log, char *text);

/* Excludes ns, in which training waited for something else, from the time of
 * iterations. */
void mtlm_train_log_pause(struct mtlm_train_log *log, int64_t ns);

/* Excludes ns of a validation that a signal ended from all times. */
void mtlm_train_log_cut(struct mtlm_train_log *log, int64_t ns);

/* Starts the progress of the work on rank 0; sets work.launched.  The work ends
 * with mtlm_progress_end(). */
void mtlm_train_log_progress(const struct mtlm_job *job,
                             struct mtlm_progress_work work);

#endif /* MTLM_TRAIN_LOG_H */
