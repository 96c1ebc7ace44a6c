#ifndef MTLM_SHAPE_H
#define MTLM_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MTLM_MAX_RANK 4

/* The shape of a dense row-major tensor: the last dimension is contiguous. */
struct mtlm_shape {
    int rank;
    int64_t dim[MTLM_MAX_RANK];
};

/* MTLM_SHAPE(seq, batch, hidden) is the shape [seq, batch, hidden]. */
#define MTLM_SHAPE(...)                                                        \
    ((struct mtlm_shape){                                                      \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),            \
        .dim = {__VA_ARGS__},                                                  \
    })

/* Returns the number of elements. */
int64_t mtlm_shape_elems(const struct mtlm_shape *shape);

/* Return the last dimension, and the product of all other dimensions. */
int64_t mtlm_shape_cols(const struct mtlm_shape *shape);
int64_t mtlm_shape_rows(const struct mtlm_shape *shape);

/* Whether rank and dimensions are equal. */
bool mtlm_shape_equal(const struct mtlm_shape *a, const struct mtlm_shape *b);

/* Writes "[s, b, h]" to buf; returns buf. */
const char *mtlm_shape_str(const struct mtlm_shape *shape, char buf[96]);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_SHAPE_H */
