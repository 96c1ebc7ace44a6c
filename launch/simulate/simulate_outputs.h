#ifndef MTLM_SIMULATE_OUTPUTS_H
#define MTLM_SIMULATE_OUTPUTS_H

/* What a simulation writes: opened before the simulation takes time. */

#include <stdbool.h>

#include "launch/log/metrics.h"
#include "launch/options/options.h"

struct mtlm_simulate_outputs {
    const char *trace_dir;        /* NULL: no trace */
    bool made_dir;                /* trace_dir is new */
    bool traced;                  /* trace_dir may hold files of a trace */
    int lock;                     /* of trace_dir */
    struct mtlm_metrics *metrics; /* NULL: none, or written */
    bool made_metrics;            /* the file of metrics is new, and empty */
    int unfinished;               /* files that a signal removes */
};

/* Opens --metrics, locks the directory of --trace, and looks whether
 * --graph-out can be written.  Returns -1 and sets *err (MTLM_EXIT_IO) if a
 * file cannot be written, or if the directory is not empty.  The caller closes
 * the outputs after a return of 0. */
int mtlm_simulate_outputs_open(struct mtlm_simulate_outputs *outputs,
                               const struct mtlm_options *options,
                               struct mtlm_error *err);

/* Writes the object of --metrics, and takes about->simulation.  Returns -1 and
 * sets *err (MTLM_EXIT_IO) if the file lacks the object. */
int mtlm_simulate_outputs_write_metrics(struct mtlm_simulate_outputs *outputs,
                                        const struct mtlm_options *options,
                                        const struct mtlm_metrics_about *about,
                                        struct mtlm_error *err);

/* Announces that the files of the trace are written next.  A signal removes
 * them until the outputs are closed: the simulation may still fail. */
void mtlm_simulate_outputs_begin_trace(struct mtlm_simulate_outputs *outputs);

/* Closes the outputs.  well: the simulation ended well.  Else removes the files
 * of the trace, and what mtlm_simulate_outputs_open() made and nobody filled.
 */
void mtlm_simulate_outputs_close(struct mtlm_simulate_outputs *outputs,
                                 bool well);

#endif /* MTLM_SIMULATE_OUTPUTS_H */
