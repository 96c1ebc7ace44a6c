#ifndef MTLM_TRACE_GATHER_H
#define MTLM_TRACE_GATHER_H

#include "launch/trace/trace.h"
#include "runtime/comm/ranks.h"

/* What the recorders of all ranks hold, on rank 0.  Owns its arrays. */
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

/* Whether this is rank 0, whose *g it fills.  Collective, without an engine. */
bool mtlm_trace_gather(struct mtlm_ranks *ranks,
                       const struct mtlm_recorder *recorder,
                       struct mtlm_gathered *g);
void mtlm_gathered_free(struct mtlm_gathered *g);

#endif /* MTLM_TRACE_GATHER_H */
