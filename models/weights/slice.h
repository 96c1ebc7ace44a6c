#ifndef MTLM_SLICE_H
#define MTLM_SLICE_H

#include <stdint.h>

/* Of a tensor of full[0] x full[1] elements (a vector: x 1) the rectangle of
 * dim[0] x dim[1] from (first[0], first[1]) on; of that, row by row, count
 * elements from begin on: a rank's shard, or a piece of it. */
struct mtlm_slice {
    int64_t full[2], first[2], dim[2];
    int64_t begin, count;
};

/* -1: it is none, for it leaves its tensor or is larger than memory. */
int mtlm_slice_check(const struct mtlm_slice *slice);

/* Its elements in rows of the tensor below `rows`. */
int64_t mtlm_slice_count(const struct mtlm_slice *slice, int64_t rows);

/* Copies the elements in rows below `rows` that two slices of one tensor have
 * in common, from one's values to the other's; returns how many they are.
 * values may be misaligned; into may be NULL: nothing is copied. */
int64_t mtlm_slice_copy(const struct mtlm_slice *from, const void *values,
                        const struct mtlm_slice *to, int64_t rows, float *into);

#endif /* MTLM_SLICE_H */
