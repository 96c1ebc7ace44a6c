#ifndef MTLM_SLICE_H
#define MTLM_SLICE_H

#include <stdbool.h>
#include <stdint.h>

/* A slice of a tensor [full[0], full[1]] (a vector: full[1] = 1): a rank's
 * shard, or a piece of one.  The slice lies in the rectangle [dim[0], dim[1]]
 * at (first[0], first[1]): row by row, `count` elements from element `begin`
 * on. */
struct mtlm_slice {
    int64_t full[2], first[2], dim[2];
    int64_t begin, count;
};

/* Returns 0 for a valid slice; -1: it exceeds its tensor, or the tensor is
 * larger than memory. */
int mtlm_slice_check(const struct mtlm_slice *slice);

/* Returns the slice's elements in rows of the tensor below `rows`. */
int64_t mtlm_slice_count(const struct mtlm_slice *slice, int64_t rows);

/* Returns the tensor's row of an element, counted from the slice's first
 * element. */
int64_t mtlm_slice_row(const struct mtlm_slice *slice, int64_t element);

/* Returns the tensor's column of an element, counted likewise. */
int64_t mtlm_slice_column(const struct mtlm_slice *slice, int64_t element);

/* Whether two slices of one tensor have an element in common.  Takes the same
 * time for all sizes. */
bool mtlm_slice_overlap(const struct mtlm_slice *a, const struct mtlm_slice *b);

/* Copies the common elements of two slices of one tensor, in rows below `rows`,
 * from values [from->count] to into [to->count]; returns how many.  values may
 * be misaligned.  into NULL: counts only. */
int64_t mtlm_slice_copy(const struct mtlm_slice *from, const void *values,
                        const struct mtlm_slice *to, int64_t rows, float *into);

#endif /* MTLM_SLICE_H */
