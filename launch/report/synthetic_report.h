#ifndef MTLM_SYNTHETIC_REPORT_H
#define MTLM_SYNTHETIC_REPORT_H

#include "launch/job/job.h"
#include "launch/trace/summary.h"

/* At the end of a synthetic run, on rank 0: what the evaluator makes of the
 * same programs with the same durations, and with the times of messages that
 * this run had, beside what was measured.  records: the n of all ranks, info
 * and measured: what was made of them. */
void mtlm_synthetic_report(const struct mtlm_job *job,
                           const struct mtlm_record *records, size_t n,
                           const struct mtlm_trace_info *info,
                           const struct mtlm_trace_summary *measured);

#endif /* MTLM_SYNTHETIC_REPORT_H */
