#ifndef MTLM_TRACE_SUMMARY_H
#define MTLM_TRACE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/trace/records.h"
#include "launch/trace/trace.h"
#include "runtime/machine/recorder.h"

/* The numbers of a recorded run, for summary.json and the terminal.
 *
 * Window of iteration e on a rank: from the end of its last optimizer node of
 * e - 1 to that of e.  Windows with validation in them do not count, nor do
 * those of an iteration that some rank did not finish.  Where no window
 * counts (one iteration, no optimizer) the window of every rank is from the
 * origin to the last end over all ranks.
 *
 * Busy is the time of nodes on workers inside the windows; a worker that only
 * runs nodes on host state (MTLM_CLASS_HOST) counts neither here nor there.
 * A receive is communication from the moment when its send was issued: until
 * then the peer had nothing to send. */

/* A rank, over all windows that count. */
struct mtlm_trace_rank {
    int workers;
    int64_t window_ns;
    int64_t busy_ns;    /* of all workers together */
    int64_t comm_ns;    /* with communication of any kind under way */
    int64_t overlap_ns; /* of these, with at least one worker busy */
    double bubble;      /* 1 - busy / (workers * window) */
    /* The area bound: work of an iteration, whenever it was done, that each
     * worker has, on the mean over the iterations that count. */
    int64_t work_ns;
};

struct mtlm_trace_iteration {
    int iteration;
    bool counts; /* its window does */
    /* Earliest begin and latest end of a rank's window; where it does not
     * count first start and last end of a node. */
    int64_t begin_ns, end_ns;
    double bubble;  /* of all ranks, where the window counts */
    double overlap; /* likewise; -1: no communication */
    /* Stage span, the zero-bubble papers' metric: from the first start to
     * the last end of F, B and W on one rank, without the optimizer, of the
     * rank where this takes longest; 0: none.  Its bubble is the share of
     * the span in which that rank's workers did not run F, B or W. */
    int64_t span_ns;
    int span_rank;
    double span_bubble;
    /* The critical path, the longest chain of nodes of the iteration of which
     * each waits for the one before, with durations as measured, and what of
     * it is communication; -1: no edges known. */
    int64_t path_ns, path_comm_ns;
    /* Work of a worker, on the mean, of the rank where this is most. */
    int64_t work_ns;
    int work_rank;
};

/* An operation, over all records. */
struct mtlm_trace_op {
    int op; /* number in mtlm_ops */
    int64_t count;
    int64_t total_ns, p50_ns;
    double mean_ns;
    double flops, bytes; /* of all calls */
    double gflops;       /* per second: flops / total */
};

/* Operations of one class, those inside the windows. */
struct mtlm_trace_class_time {
    int64_t count;
    int64_t ns;       /* inside the windows, of all ranks together */
    int64_t total_ns; /* of the same nodes, what lies outside included */
    double flops, bytes;
};

/* Where the time of a worker goes; adds up to its windows. */
struct mtlm_trace_account {
    int rank, worker;
    int64_t window_ns;
    int64_t compute_ns;
    int64_t data_ns; /* waited for another worker of its rank */
    int64_t comm_ns; /* ... for a message or a collective */
    int64_t runtime_ns;
    int64_t end_ns; /* nothing was left to run in this window */
};

/* Why a worker did not work. */
enum mtlm_trace_cause {
    MTLM_CAUSE_RECEIVE,    /* something of another rank had not arrived */
    MTLM_CAUSE_SEND,       /* another rank had not taken what was to be sent */
    MTLM_CAUSE_ALL_REDUCE, /* ... had not been summed up */
    MTLM_CAUSE_DATA,       /* another worker of this rank had not made it */
    MTLM_CAUSE_RUNTIME,    /* a node was ready, or made ready, and not run */
    MTLM_CAUSE_END,        /* nothing was left to run in this window */
    MTLM_CAUSE_COUNT
};

struct mtlm_trace_wait {
    int rank;
    enum mtlm_trace_cause cause;
    int lane;  /* of the communication (enum mtlm_lane), else -1 */
    int phase; /* of the communication (enum mtlm_phase), else -1 */
    int peer;  /* of the message, else -1 */
    int64_t ns;
    double share;  /* of workers * window */
    char text[96]; /* "rank 1 waited 8.1 % for activations from rank 0" */
};

struct mtlm_trace_summary {
    int ranks;
    int64_t origin_ns; /* zero of all outputs: first start on a worker after
                          the initialization, host state excepted */
    int first_iteration, last_iteration; /* recorded; -1: none */

    int windows;         /* iterations that count; 0: one window for all */
    int64_t makespan_ns; /* mean length of a window over iterations and ranks */
    double bubble;       /* 1 - busy / (workers * window), over all ranks */
    /* The same idle time as a share of the busy time: of the iteration that
     * would be ideal.  Of 1F1B with equal stages (p - 1) / (v m). */
    double bubble_of_ideal;
    int64_t span_ns;    /* mean stage span; 0: none */
    double span_bubble; /* mean */
    double ideal_1f1b;  /* (p - 1) / (v m + p - 1), for comparison: of 1F1B,
                         * interleaved where v > 1 (arXiv 2104.04473) */
    /* Means over the iterations that count, as in the iterations; bound: no
     * schedule of these nodes with these durations takes less than the longer
     * of path and work. */
    int64_t path_ns, path_comm_ns, bound_ns; /* -1: no edges known */
    int64_t work_ns;
    int64_t comm_ns, overlap_ns; /* of all ranks */
    double overlap;              /* overlap / comm; -1: no communication */

    struct mtlm_trace_rank *rank; /* [ranks] */
    struct mtlm_trace_iteration *iteration;
    size_t n_iterations;
    struct mtlm_trace_op *op; /* most time first */
    size_t n_ops;
    struct mtlm_trace_class_time class[MTLM_TRACE_CLASSES];
    struct mtlm_trace_account *account; /* by rank, then worker */
    size_t n_accounts;
    struct mtlm_trace_wait *wait; /* longest first; with busy they sum up to
                                     workers * window of each rank */
    size_t n_waits;
};

/* Frees a summary; destroy(NULL) does nothing. */
void mtlm_trace_summary_destroy(struct mtlm_trace_summary *summary);

/* Name in summary.json. */
const char *mtlm_trace_cause_name(enum mtlm_trace_cause cause);

#endif /* MTLM_TRACE_SUMMARY_H */
