#ifndef MTLM_METRICS_H
#define MTLM_METRICS_H

/* Numbers of a run for programs: --metrics FILE, a JSON object per line, and
 * --tensorboard-dir DIR.  The rank that prints the log writes them. */

#include "launch/log/log_line.h"
#include "launch/options/options.h"

struct mtlm_metrics;

/* Content of the first object besides the options. */
struct mtlm_metrics_about {
    int ranks, tensor, pipeline, data;
    double parameters;
    const char *policy, *starpu_version;
    const char *transport;     /* mtlm_job_transport_name() */
    const char *gpu;           /* of this rank; NULL: CPUs */
    struct json_t *simulation; /* numbers of --simulate, taken; NULL: a run */
};

/* Opens the outputs that the options name.  Sets *metrics, or NULL if there are
 * none.  On failure, returns -1 and sets *err (MTLM_EXIT_IO). */
int mtlm_metrics_open(const struct mtlm_options *options,
                      struct mtlm_metrics **metrics, struct mtlm_error *err);

/* Closes and frees metrics; NULL is allowed.  Returns -1, after a line on
 * stderr, if data was lost. */
int mtlm_metrics_close(struct mtlm_metrics *metrics);

/* The following functions ignore metrics == NULL. */

/* Writes the first object: "options" as --print-config prints them, and about.
 * A simulation has no other object. */
void mtlm_metrics_begin(struct mtlm_metrics *metrics,
                        const struct mtlm_options *options,
                        const struct mtlm_metrics_about *about);

/* Writes an iteration: the fields of its log line, and the time. */
void mtlm_metrics_step(struct mtlm_metrics *metrics,
                       const struct mtlm_log_iteration *step);

/* Writes a validation after iteration on set, "validation" or "test".  Negative
 * sop_loss and sop_accuracy are left out. */
void mtlm_metrics_validation(struct mtlm_metrics *metrics, int64_t iteration,
                             const char *set, double loss, double sop_loss,
                             double sop_accuracy);

#endif /* MTLM_METRICS_H */
