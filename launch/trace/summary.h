#ifndef MTLM_TRACE_SUMMARY_H
#define MTLM_TRACE_SUMMARY_H

/* The numbers of a recorded run, for summary.json and the terminal: structs
 * only.  launch/trace/summarize.h computes them.
 *
 * The window of iteration e on a rank begins when the last optimizer node of e
 * - 1 ends.  The window ends when the last optimizer node of e ends.  A window
 * with validation does not count.  A window of an iteration that some rank did
 * not finish does not count either.  Of iterations that overlap, the last one
 * does not count: no next one fills its end.  If no window counts (one
 * iteration, no optimizer), every rank's window goes from the origin to the
 * last end over all ranks.
 *
 * Busy is the time of nodes on workers inside the windows.  A worker that only
 * runs nodes on host state (MTLM_CLASS_HOST) does not count as a worker.  A
 * receive is communication from the moment its send was issued.  Loads and
 * stores are no communication. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/trace/records.h"

/* A rank; sums over all windows that count. */
struct mtlm_trace_rank {
    int workers;
    int64_t window_ns;
    int64_t busy_ns;    /* of all workers together */
    int64_t comm_ns;    /* with communication of any kind under way */
    int64_t overlap_ns; /* of comm_ns, with at least one worker busy */
    double bubble;      /* 1 - busy / (workers * window) */
    /* Area bound: work of an iteration per worker, inside and outside the
     * window.  Mean of the iterations that count. */
    int64_t work_ns;
};

struct mtlm_trace_iteration {
    int iteration;
    bool counts; /* the iteration's window counts */
    /* Earliest begin and latest end over all ranks' windows.  If the window
     * does not count: first start and last end of the iteration's nodes. */
    int64_t begin_ns, end_ns;
    double bubble;  /* of all ranks, if the window counts */
    double overlap; /* of all ranks, if the window counts; -1: no
                     * communication */
    /* Stage span, the zero-bubble papers' metric: from the first start to the
     * last end of F, B and W on one rank.  span_rank: the rank with the longest
     * span.  span_ns 0: none, or iterations overlap.  span_bubble: idle share
     * of that rank's workers in the span. */
    int64_t span_ns;
    int span_rank;
    double span_bubble;
    /* Critical path: the longest chain of dependent nodes, with measured
     * durations.  path_comm_ns: communication on the path.  -1: no edges. */
    int64_t path_ns, path_comm_ns;
    /* Work per worker of the rank with the most work. */
    int64_t work_ns;
    int work_rank;
};

/* An operation, over all records. */
struct mtlm_trace_op {
    int op; /* number in mtlm_ops */
    int64_t count;
    int64_t total_ns, p50_ns;
    double mean_ns;
    double flops, bytes; /* sums over all records */
    double gflops;       /* per second: flops / total */
};

/* The nodes of one class inside the windows. */
struct mtlm_trace_class_time {
    int64_t count;
    int64_t ns;       /* inside the windows, of all ranks together */
    int64_t total_ns; /* of the same nodes, with parts outside the windows */
    double flops, bytes;
};

/* Time of a worker by use; the parts add up to its windows. */
struct mtlm_trace_account {
    int rank, worker;
    int64_t window_ns;
    int64_t compute_ns;
    int64_t data_ns; /* waits for another worker of the same rank */
    int64_t comm_ns; /* waits for a message, a collective or the disk */
    int64_t runtime_ns;
    int64_t end_ns; /* nothing left to run in the window */
};

/* What an idle worker waits for. */
enum mtlm_trace_cause {
    MTLM_CAUSE_RECEIVE,    /* data from another rank */
    MTLM_CAUSE_SEND,       /* another rank, which takes data from this one */
    MTLM_CAUSE_ALL_REDUCE, /* a collective */
    MTLM_CAUSE_LOAD,       /* a load from the disk of --offload */
    MTLM_CAUSE_STORE,      /* a store to that disk */
    MTLM_CAUSE_DATA,       /* another worker of the same rank */
    MTLM_CAUSE_RUNTIME,    /* the runtime: a node is ready and does not run */
    MTLM_CAUSE_END,        /* nothing: no node is left in the window */
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
    /* Idle time / busy time: the bubble relative to the ideal iteration.
     * (p - 1) / (v m) for 1F1B with equal stages. */
    double bubble_of_ideal;
    int64_t span_ns;    /* mean stage span; 0: none */
    double span_bubble; /* mean */
    double ideal_1f1b;  /* (p - 1) / (v m + p - 1): the bubble of 1F1B,
                         * interleaved where v > 1 (arXiv 2104.04473) */
    /* Means over the iterations that count.  bound_ns: the larger of path and
     * work, a lower bound of every schedule of these nodes and durations. */
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
    struct mtlm_trace_wait *wait; /* longest first; waits and busy time add up
                                   * to workers * window of each rank */
    size_t n_waits;
};

/* Frees a summary; destroy(NULL) does nothing. */
void mtlm_trace_summary_destroy(struct mtlm_trace_summary *summary);

/* Returns the cause's name in summary.json. */
const char *mtlm_trace_cause_name(enum mtlm_trace_cause cause);

#endif /* MTLM_TRACE_SUMMARY_H */
