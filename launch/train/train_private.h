#ifndef MTLM_TRAIN_PRIVATE_H
#define MTLM_TRAIN_PRIVATE_H

#include "launch/checkpoint/saver.h"
#include "launch/job/job.h"
#include "launch/train/summary_text.h"
#include "launch/train/train_log.h"

/* What train*.c share: a run from its first iteration to its last line. */

/* Where the loop stands. */
struct mtlm_train {
    struct mtlm_job *job;
    struct mtlm_dump *dump;
    struct mtlm_ramp_place place; /* of the iteration that is waited for */
    struct mtlm_train_log log;
    int64_t nodes[2]; /* of the even and of the odd iteration under way */
    struct mtlm_saver *saver; /* NULL: nothing is saved */
    bool unsaved;             /* the last checkpoint failed */
    int64_t validated; /* iterations before the last validation; -1: none */
    double validation[MTLM_STATUS_EXTRA]; /* its report */
    struct mtlm_summary_text text;
    bool interrupted; /* by a signal: the same on all ranks */
    bool left_out;    /* so that a validation or a test that was due is not
                       * there, or not all of it */
    int code;         /* may be this rank's own */
};

/* Validates after `done` iterations and logs it; on: what the line says it is
 * on.  A signal ends it, and nothing is logged. */
void mtlm_train_validate(struct mtlm_train *s, int64_t done, const char *on);

/* What comes when there is nothing left to train. */
void mtlm_train_evaluate(struct mtlm_train *s);

/* All ranks look for the first node of the iteration that made a value that is
 * not finite; the rank whose node comes first says so. */
void mtlm_train_explain_nan(struct mtlm_train *s, int64_t iteration);

#endif /* MTLM_TRAIN_PRIVATE_H */
