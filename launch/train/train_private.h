#ifndef MTLM_TRAIN_PRIVATE_H
#define MTLM_TRAIN_PRIVATE_H

/* State of a training run, shared by train.c, train_evaluate.c and
 * train_nan.c. */

#include "launch/checkpoint/saver.h"
#include "launch/job/job.h"
#include "launch/train/summary_text.h"
#include "launch/train/train_log.h"

struct mtlm_train {
    struct mtlm_job *job;
    struct mtlm_dump *dump;
    struct mtlm_ramp_place place; /* of the iteration awaited */
    struct mtlm_train_log log;
    int64_t nodes[2];         /* of the even and the odd iteration under way */
    struct mtlm_saver *saver; /* NULL: saves nothing */
    bool unsaved;             /* the last checkpoint failed */
    int64_t validated; /* iterations before the last validation; -1: none */
    double validation[MTLM_STATUS_EXTRA]; /* report of that validation */
    struct mtlm_summary_text text;
    bool interrupted; /* by a signal: the same on all ranks */
    bool left_out;    /* a due validation or test is missing or incomplete */
    int code;         /* exit code; may differ between ranks */
};

/* Validates after `done` iterations and logs the result; on: "" or " on
 * validation set".  A signal ends the validation without a log line. */
void mtlm_train_validate(struct mtlm_train *s, int64_t done, const char *on);

/* Final validation and test. */
void mtlm_train_evaluate(struct mtlm_train *s);

/* Finds the first node of the iteration that computed a value that is not
 * finite; the rank with that node prints it.  Collective. */
void mtlm_train_explain_nan(struct mtlm_train *s, int64_t iteration);

#endif /* MTLM_TRAIN_PRIVATE_H */
