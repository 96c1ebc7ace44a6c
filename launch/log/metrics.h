#ifndef MTLM_METRICS_H
#define MTLM_METRICS_H

#include "launch/log/log_line.h"
#include "launch/options/options.h"

/* The numbers of a run for programs: --metrics FILE, a JSON object per line,
 * and --tensorboard-dir DIR.  The rank that prints the log lines keeps them. */
struct mtlm_metrics;

/* What the options do not tell. */
struct mtlm_metrics_about {
    int ranks, tensor, pipeline, data;
    double parameters;
    const char *policy, *starpu_version;
    const char *transport; /* mtlm_job_transport_name() */
    const char *gpu;       /* of the rank that keeps them; NULL: CPUs */
};

/* Opens what the options ask for; NULL with *err untouched when that is
 * nothing, or -1 with MTLM_EXIT_IO. */
int mtlm_metrics_open(const struct mtlm_options *options,
                      struct mtlm_metrics **metrics, struct mtlm_error *err);

/* Closes; -1: something was lost, which was said.  NULL is fine. */
int mtlm_metrics_close(struct mtlm_metrics *metrics);

/* The others do nothing when metrics is NULL. */

/* First object: "options", every value as --print-config has it, and about. */
void mtlm_metrics_begin(struct mtlm_metrics *metrics,
                        const struct mtlm_options *options,
                        const struct mtlm_metrics_about *about);

/* One iteration: the fields that its log line would have, and time. */
void mtlm_metrics_step(struct mtlm_metrics *metrics,
                       const struct mtlm_log_iteration *step);

/* A validation after iteration on set, "validation" or "test"; sop_loss and
 * sop_accuracy: left out when negative. */
void mtlm_metrics_validation(struct mtlm_metrics *metrics, int64_t iteration,
                             const char *set, double loss, double sop_loss,
                             double sop_accuracy);

#endif /* MTLM_METRICS_H */
