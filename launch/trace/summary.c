/* Frees the summary; launch/trace/summarize.c computes one and
 * launch/trace/read/summary_json.c reads one. */
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
