#ifndef MTLM_TRACE_GATHER_H
#define MTLM_TRACE_GATHER_H

#include "launch/trace/trace.h"
#include "runtime/comm/ranks.h"

/* The records, edges, uses and data of all ranks, on rank 0; owned. */
struct mtlm_gathered {
    struct mtlm_record *record;
    size_t n;
    struct mtlm_trace_edge *edge; /* as in struct mtlm_trace_info */
    size_t n_edges;
    struct mtlm_trace_use *use;
    size_t n_uses;
    struct mtlm_trace_data *data;
    size_t n_data;
};

/* Gathers the recorders of all ranks in *g on rank 0.  Returns true on rank 0.
 * Collective; the engine must be stopped. */
bool mtlm_trace_gather(struct mtlm_ranks *ranks,
                       const struct mtlm_recorder *recorder,
                       struct mtlm_gathered *g);

/* Appends the entries of a recorder as those of rank.  Ranks ascend. */
void mtlm_gathered_add(struct mtlm_gathered *g, int rank,
                       const struct mtlm_recorder *recorder);

/* Adds the edges between ranks.  Call once all ranks are added. */
void mtlm_gathered_meet(struct mtlm_gathered *g);

/* Frees all entries but the records. */
void mtlm_gathered_forget(struct mtlm_gathered *g);

/* Frees all entries. */
void mtlm_gathered_free(struct mtlm_gathered *g);

#endif /* MTLM_TRACE_GATHER_H */
