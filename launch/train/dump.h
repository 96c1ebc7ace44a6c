#ifndef MTLM_DUMP_H
#define MTLM_DUMP_H

/* --dump-first-step: batch, initial weights, gradients and loss of the first
 * iteration, one file per rank.  launch/train/dump.c describes the file. */

#include "codelets/control_slots.h"
#include "launch/job/job.h"

struct mtlm_dump;

/* Returns an empty dump; borrows job.  The caller frees the dump, or calls
 * mtlm_dump_write(), which frees it.  Call after mtlm_checkpoint_load(). */
struct mtlm_dump *mtlm_dump_create(struct mtlm_job *job);

/* Frees a dump that is not written.  NULL is allowed. */
void mtlm_dump_destroy(struct mtlm_dump *dump);

/* Copies the weights that the first iteration reads.  Call before it. */
void mtlm_dump_weights(struct mtlm_dump *dump);

/* Copies the gradients to dump, a struct mtlm_dump.  For
 * mtlm_run_on_gradients(). */
void mtlm_dump_gradients(void *dump);

/* Writes the file, with losses and gradient norm from the first iteration's
 * report.  Frees dump.  On failure, returns -1 and sets *err (MTLM_EXIT_IO). */
int mtlm_dump_write(struct mtlm_dump *dump,
                    const double report[MTLM_CONTROL_COUNT],
                    struct mtlm_error *err);

/* Adds a field of the n samples number[n] to a file under the field's name.
 * Returns the values, which the caller frees after the commit. */
int32_t *mtlm_dump_field(struct mtlm_samples *samples, enum mtlm_field field,
                         const int64_t *number, int64_t n,
                         struct mtlm_safetensors_writer *writer);

#endif /* MTLM_DUMP_H */
