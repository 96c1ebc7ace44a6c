#ifndef MTLM_TFEVENTS_H
#define MTLM_TFEVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* Scalars for TensorBoard: a file events.out.tfevents.TIME.HOST.PID in a
 * directory, in the format that TensorFlow documents in
 * tensorflow/core/lib/io/record_writer.h and core/util/event.proto. */
struct mtlm_tfevents;

struct mtlm_scalar {
    const char *tag;
    double value; /* written as a float */
};

/* The directory is there.  NULL with MTLM_EXIT_IO. */
struct mtlm_tfevents *mtlm_tfevents_open(const char *dir,
                                         struct mtlm_error *err);

/* One event of n scalars at a time in seconds; failures as those of
 * launch/log/append_file.h. */
void mtlm_tfevents_add(struct mtlm_tfevents *events, double time, int64_t step,
                       const struct mtlm_scalar *scalar, size_t n);

/* As mtlm_append_file_close(). */
int mtlm_tfevents_close(struct mtlm_tfevents *events);

/* Cyclic redundancy check of Castagnoli's polynomial (RFC 3720). */
uint32_t mtlm_tfevents_crc32c(const void *data, size_t bytes);

#endif /* MTLM_TFEVENTS_H */
