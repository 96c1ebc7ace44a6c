#ifndef MTLM_DUMP_H
#define MTLM_DUMP_H

/* --dump-first-step: batch, weights before, gradients and loss of the first
 * iteration, one file per rank. */

#include "launch/job/job.h"

struct mtlm_dump;

/* The caller passes the result to write, which destroys it. */
struct mtlm_dump *mtlm_dump_create(struct mtlm_job *job);

/* Copies the weights.  Call before the first iteration. */
void mtlm_dump_weights(struct mtlm_dump *dump);

/* Copies the gradients: a callback for mtlm_run_on_gradients(). */
void mtlm_dump_gradients(void *dump);

/* Writes the file with the losses and the gradient norm of the first
 * iteration's report.  Destroys dump.  -1 and MTLM_EXIT_IO. */
int mtlm_dump_write(struct mtlm_dump *dump,
                    const double report[MTLM_CONTROL_COUNT],
                    struct mtlm_error *err);

/* Adds a field of n samples to a file under the field's name.  Returns the
 * values: they stay until commit, then the caller frees them. */
int32_t *mtlm_dump_field(struct mtlm_samples *samples, enum mtlm_field field,
                         const int64_t *number, int64_t n,
                         struct mtlm_safetensors_writer *writer);

#endif /* MTLM_DUMP_H */
