#ifndef MTLM_TESTS_TRACE_NODE_H
#define MTLM_TESTS_TRACE_NODE_H

#include "launch/trace/trace.h"

/* Records made by hand, of rank 0, times in ns; worker -1: a message. */
struct mtlm_record timed_node(int worker, int op, int ready, int start,
                              int end);

/* A run of one rank, stage and microbatch. */
extern const struct mtlm_trace_info timed_one_rank;

#endif /* MTLM_TESTS_TRACE_NODE_H */
