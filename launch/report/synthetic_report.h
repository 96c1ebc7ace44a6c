#ifndef MTLM_SYNTHETIC_REPORT_H
#define MTLM_SYNTHETIC_REPORT_H

#include "launch/job/job.h"
#include "launch/trace/summary.h"

/* Prints the predicted iteration of a synthetic run beside the measured one, on
 * rank 0.  The evaluator takes the same programs and durations, and the
 * measured times of messages.  records: the n of all ranks; info, measured:
 * their run and summary. */
void mtlm_synthetic_report(const struct mtlm_job *job,
                           const struct mtlm_record *records, size_t n,
                           const struct mtlm_trace_info *info,
                           const struct mtlm_trace_summary *measured);

#endif /* MTLM_SYNTHETIC_REPORT_H */
