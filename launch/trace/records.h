#ifndef MTLM_TRACE_RECORDS_H
#define MTLM_TRACE_RECORDS_H

/* The records of a run, sorted by rank and start, with their classes and
 * names. */

#include <stdbool.h>
#include <stddef.h>

#include "launch/trace/trace.h"
#include "runtime/machine/recorder.h"

struct mtlm_trace_records {
    struct mtlm_record *record; /* [n] by rank, then start, end, job */
    /* [n] When both ends of a message, or all ranks of a collective, were
     * ready: the record waits until then.  The start of other records. */
    int64_t *met_ns;
    int64_t *issue_ns; /* [n] start as recorded */
    int64_t *latest_ns; /* [n] latest end of the rank's records up to here */
    size_t n;
    int ranks;
    bool overlapping; /* as in struct mtlm_trace_info */
    size_t *first; /* [ranks + 1] rank r's are first[r] .. first[r + 1] - 1 */
    /* The workers that count: those for compute nodes and those that ran one,
     * by rank, then number.  Rank r has worker[first_worker[r]] ..
     * worker[first_worker[r + 1] - 1]. */
    int *worker;
    size_t *first_worker; /* [ranks + 1] */
};

/* Class of a record in schedule.csv's column op and in the picture. */
enum mtlm_trace_class {
    MTLM_TRACE_F,
    MTLM_TRACE_B,
    MTLM_TRACE_W,
    MTLM_TRACE_OPT,
    MTLM_TRACE_INIT,
    MTLM_TRACE_EVAL,
    MTLM_TRACE_SAVE, /* copies for a checkpoint */
    MTLM_TRACE_AR,   /* all-reduce of a tensor-parallel or embedding group */
    MTLM_TRACE_SEND,
    MTLM_TRACE_RECV,
    MTLM_TRACE_DP,   /* collective of the lane for data parallelism */
    MTLM_TRACE_LOAD, /* from the disk of --offload */
    MTLM_TRACE_STORE,
    MTLM_TRACE_CLASSES
};

/* Copies and sorts n records, whose ranks are below info->ranks.  The caller
 * destroys the result; destroy(NULL) does nothing. */
struct mtlm_trace_records *mtlm_trace_records_create(
    const struct mtlm_record *records, size_t n,
    const struct mtlm_trace_info *info);
void mtlm_trace_records_destroy(struct mtlm_trace_records *records);

/* Moves the start of a receive to that of its send where the send is later, at
 * most to the receive's end. */
void mtlm_trace_trim_receive(struct mtlm_record *receive, int64_t sent_ns);

/* Does the same for every receive whose send is among the records. */
void mtlm_trace_trim_receives(struct mtlm_trace_records *records);

/* Whether the record is of a node on a worker that counts. */
bool mtlm_trace_is_busy(const struct mtlm_trace_records *records,
                        const struct mtlm_record *record);

enum mtlm_trace_class mtlm_trace_class(const struct mtlm_record *record);
const char *mtlm_trace_class_name(enum mtlm_trace_class class);

/* Whether the node works on host state, such as tokens and flags. */
bool mtlm_trace_is_host(const struct mtlm_record *record);

/* Whether the node works on host state or writes a constant.  The node waits
 * for no other node, and may run during the iteration before its own. */
bool mtlm_trace_is_input(const struct mtlm_record *record);

/* Virtual stage of the rank that the record belongs to; -1: none. */
int mtlm_trace_chunk(const struct mtlm_trace_info *info,
                     const struct mtlm_record *record);

/* Names of enum mtlm_lane and enum mtlm_phase. */
const char *mtlm_trace_lane_name(int lane);
const char *mtlm_trace_phase_name(int phase);

/* Name of its operation. */
const char *mtlm_trace_op_name(const struct mtlm_record *record);

#endif /* MTLM_TRACE_RECORDS_H */
