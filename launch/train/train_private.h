#ifndef MTLM_TRAIN_PRIVATE_H
#define MTLM_TRAIN_PRIVATE_H

/* State of a training run, shared by train.c, train_evaluate.c and
 * train_nan.c. */

#include "launch/checkpoint/saver.h"
#include "launch/job/job.h"
#include "launch/train/summary_text.h"
#include "launch/train/train_log.h"
#include "runtime/machine/signals.h"

struct mtlm_train {
    struct mtlm_job *job;
    struct mtlm_dump *dump;
    struct mtlm_ramp_place place; /* position of the iteration whose report is
                                   * awaited */
    struct mtlm_train_log log;
    int64_t nodes[2];         /* submitted for the even and the odd iteration in
                               * flight */
    struct mtlm_saver *saver; /* NULL: saves nothing */
    bool unsaved;             /* the last checkpoint failed */
    bool disk_failed;         /* the disk of --offload refused state */
    int64_t validated; /* iterations before the last validation; -1: none */
    double validation[MTLM_STATUS_EXTRA]; /* report of that validation */
    struct mtlm_summary_text text;
    bool stop;        /* by a signal, the time limit or a disk: the same on all
                       * ranks; no iteration is submitted then */
    bool interrupted; /* by a signal: the same on all ranks */
    bool left_out;    /* a due validation or test is missing or incomplete */
    int code;         /* exit code; may differ between ranks */
};

/* Sets stop and interrupted by a report's sum of mtlm_stop_requested() over the
 * ranks. */
static inline void mtlm_train_heed(struct mtlm_train *s, double reasons)
{
    if (reasons > 0)
        s->stop = true;
    if (reasons >= MTLM_STOP_SIGNAL)
        s->interrupted = true;
}

/* Validates after `done` iterations and logs the result.  on: "" or " on
 * validation set", part of the log line.  A signal ends the validation without
 * a log line. */
void mtlm_train_validate(struct mtlm_train *s, int64_t done, const char *on);

/* Runs and logs the final validation and test. */
void mtlm_train_evaluate(struct mtlm_train *s);

/* Finds the iteration's first node with a value that is not finite; the rank of
 * the node prints the node.  Stops the engine and sets s->code to
 * MTLM_EXIT_NUMERIC.  Collective. */
void mtlm_train_explain_nan(struct mtlm_train *s, int64_t iteration);

#endif /* MTLM_TRAIN_PRIVATE_H */
