#ifndef MTLM_TRACE_H
#define MTLM_TRACE_H

/* What a trace holds besides the records: the run, its workers, edges and
 * data. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/layout.h"
#include "runtime/machine/recorder.h"

/* Version of the files that mtlm-report reads: summary.json and schedule.csv.
 * Increment on an incompatible change.  2: the first node of a collective waits
 * for what the others wait for, and they wait for the first; 1: each waited for
 * what all wait for. */
enum { MTLM_TRACE_VERSION = 2, MTLM_TRACE_OLDEST_VERSION = 1 };

/* A worker, whether it executed something or not. */
struct mtlm_trace_worker {
    int rank;
    int worker;         /* as in struct mtlm_record */
    const char *device; /* such as "CPU 0", "CUDA 1" */
    bool compute; /* may run nodes of class MTLM_CLASS_COMPUTE: without nodes,
                   * the worker counts as idle */
};

/* Node job of rank waits for node on_job of on_rank. */
struct mtlm_trace_edge {
    int32_t rank, on_rank;
    int64_t job, on_job;
};

/* Node job of rank uses that rank's data. */
struct mtlm_trace_use {
    int32_t rank;
    int32_t data;
    int32_t access; /* enum mtlm_access */
    int64_t job;
};

/* A slot of a tensor of rank. */
struct mtlm_trace_data {
    int32_t rank;
    int32_t data; /* number within the rank, from 0 */
    struct mtlm_record_data what;
};

/* The rank of edges, uses, data and records of a graph that has no ranks. */
enum { MTLM_TRACE_MERGED = -1 };

/* The run.  Texts and arrays are borrowed; NULL: unknown. */
struct mtlm_trace_info {
    int ranks;
    int stages;                    /* p: ranks of a pipeline */
    int virtual_stages;            /* v: stages of the model per rank */
    enum mtlm_placement placement; /* of the stages on the ranks */
    int microbatches;              /* m: per iteration and pipeline */
    bool overlapping; /* iterations overlap: the last one does not count */
    const char *model;
    const char *layout;   /* for people, such as "TP 2 x PP 2" */
    const char *schedule; /* as --schedule names it */
    const char *policy;
    const char *starpu_version;
    const char *transport;    /* between GPUs: "NCCL 2.28.9", "MPI"; or NULL */
    const char *gpu;          /* rank 0's: name, memory, versions; NULL: CPUs */
    const int *stage_of_rank; /* [ranks] 0 .. stages - 1 */
    const int64_t *clock_offset_ns; /* [ranks] added to the first record's
                                     * times */
    const double *engine_share;     /* [ranks] of a core, over the run */
    /* By rank and number, if files of the trace are to be written. */
    const struct mtlm_trace_worker *worker; /* [n_workers] */
    size_t n_workers;
    /* Edges by rank, job, on_rank, on_job; launch/trace/edges.h defines those
     * between ranks. */
    const struct mtlm_trace_edge *edge; /* [n_edges] */
    size_t n_edges;
    const struct mtlm_trace_use *use; /* [n_uses] by rank, job, operand */
    size_t n_uses;
    const struct mtlm_trace_data *data; /* [n_data] by rank, data */
    size_t n_data;
    bool svg_ops; /* schedule.svg shows single operations */
    /* Microbatches that the picture shows of the begin and of the end of an
     * only iteration; 0: all (launch/trace/export/cut.h). */
    int shown_first, shown_last;
};

/* Returns the stages of the model per rank; 1 where they are unknown. */
static inline int mtlm_trace_chunks(const struct mtlm_trace_info *info)
{
    return info->virtual_stages > 1 ? info->virtual_stages : 1;
}

#endif /* MTLM_TRACE_H */
