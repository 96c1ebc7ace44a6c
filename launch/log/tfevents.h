#ifndef MTLM_TFEVENTS_H
#define MTLM_TFEVENTS_H

/* Scalars for TensorBoard: a file events.out.tfevents.TIME.HOST.PID in a
 * directory.  Format: tensorflow/core/lib/io/record_writer.h and
 * core/util/event.proto. */

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

struct mtlm_tfevents;

struct mtlm_scalar {
    const char *tag;
    double value; /* written as a float */
};

/* Opens a new file in the existing directory dir.  The caller closes the file
 * with mtlm_tfevents_close().  On failure, returns NULL and sets *err
 * (MTLM_EXIT_IO). */
struct mtlm_tfevents *mtlm_tfevents_open(const char *dir,
                                         struct mtlm_error *err);

/* Says that training begins at a step: TensorBoard forgets what earlier files
 * of the directory have of this step and later. */
void mtlm_tfevents_start(struct mtlm_tfevents *events, double time,
                         int64_t step);

/* Writes one event of n scalars.  time: seconds since 1970.  A failed write is
 * reported on stderr and ends no training (launch/log/append_file.h). */
void mtlm_tfevents_add(struct mtlm_tfevents *events, double time, int64_t step,
                       const struct mtlm_scalar *scalar, size_t n);

/* Closes the file and frees events; NULL is allowed.  Returns -1 if events are
 * missing in the file. */
int mtlm_tfevents_close(struct mtlm_tfevents *events);

/* Returns the CRC-32C of data (RFC 3720). */
uint32_t mtlm_tfevents_crc32c(const void *data, size_t bytes);

#endif /* MTLM_TFEVENTS_H */
