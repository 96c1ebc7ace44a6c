#include "config.h"

#include "trace_node.h"

struct mtlm_record timed_node(int worker, int op, int ready, int start, int end)
{
    return (struct mtlm_record){.worker = worker,
                                .lane = worker < 0 ? MTLM_LANE_PP
                                                   : MTLM_LANE_COMPUTE,
                                .op = op,
                                .peer = -1,
                                .group = -1,
                                .group_root = -1,
                                .match = -1,
                                .ready_ns = ready,
                                .start_ns = start,
                                .end_ns = end};
}

const struct mtlm_trace_info timed_one_rank = {
    .ranks = 1, .stages = 1, .microbatches = 1};
