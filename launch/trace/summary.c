/* Frees the summary; launch/trace/summarize.c computes one and
 * launch/trace/read/read_summary.c reads one. */
#include "config.h"

#include <stdlib.h>

#include "launch/trace/summary.h"

void mtlm_trace_summary_destroy(struct mtlm_trace_summary *summary)
{
    if (!summary)
        return;
    free(summary->rank);
    free(summary->iteration);
    free(summary->op);
    free(summary->wait);
    free(summary->account);
    free(summary);
}

const char *mtlm_trace_cause_name(enum mtlm_trace_cause cause)
{
    static const char *const name[] = {
        [MTLM_CAUSE_RECEIVE] = "receive",
        [MTLM_CAUSE_SEND] = "send",
        [MTLM_CAUSE_ALL_REDUCE] = "all_reduce",
        [MTLM_CAUSE_LOAD] = "load",
        [MTLM_CAUSE_STORE] = "store",
        [MTLM_CAUSE_DATA] = "data",
        [MTLM_CAUSE_RUNTIME] = "runtime",
        [MTLM_CAUSE_END] = "end",
    };

    return name[cause];
}
