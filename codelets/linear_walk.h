#ifndef MTLM_LINEAR_WALK_H
#define MTLM_LINEAR_WALK_H

/* The products of a linear layer on the CPU, of any value type:
 *
 *   MTLM_LINEAR_FWD    y = x weight^T
 *   MTLM_LINEAR_DGRAD  dx = dy weight; the walk's x and y are dx and dy
 *   MTLM_LINEAR_WGRAD  dweight = dy^T x; its y and weight are dy and dweight
 *
 * x [m, k], y [m, n], weight [n, k].
 *
 * Products compute in mtlm_real.  A walk takes 16-bit operands a panel at a
 * time: the walk widens the panel, and rounds the result.  A panel is a part of
 * the longer of n and k; the shorter one is whole.  Calls on mtlm_real values
 * have one panel.  Matrices of mtlm_real are used in place. */

#include "codelets/op.h"

enum mtlm_linear_product {
    MTLM_LINEAR_FWD,
    MTLM_LINEAR_DGRAD,
    MTLM_LINEAR_WGRAD
};

/* A matrix, and its part that belongs to the panel. */
struct mtlm_linear_operand {
    enum mtlm_dtype type;
    void *values; /* of the whole matrix, borrowed */
    /* Set by mtlm_linear_walk_next(): */
    int64_t row, col, rows, cols; /* where the part lies */
    mtlm_real *at;                /* the part [rows, cols] */
    int64_t ld;                   /* elements from row to row */
    mtlm_real *buffer;            /* private */
};

struct mtlm_linear_walk {
    enum mtlm_linear_product product;
    bool add; /* The product is added to what the result holds. */
    int64_t m, n, k;
    struct mtlm_linear_operand x, y, weight;
    /* Set by mtlm_linear_walk_next(). */
    bool starts; /* no earlier panel adds to this part of the result */
    bool ends;   /* no later panel does */
    /* Private: */
    bool is_generated;    /* x is a row of generated text */
    int64_t first, count; /* of the panel, in n or k */
};

/* Return the walk through the product of a call of linear.c or linear_gelu.c.
 * Operands have the values' type of the call, dweight is mtlm_real. */
struct mtlm_linear_walk mtlm_linear_walk_fwd(const struct mtlm_call *call,
                                             void *x, void *weight, void *y);
struct mtlm_linear_walk mtlm_linear_walk_dgrad(const struct mtlm_call *call,
                                               void *dy, void *weight, void *dx,
                                               bool add);
struct mtlm_linear_walk mtlm_linear_walk_wgrad(const struct mtlm_call *call,
                                               void *x, void *dy, void *dweight,
                                               bool add);

/* Return the bytes of scratch that the walk takes: wide_bytes of struct
 * mtlm_op. */
size_t mtlm_linear_walk_fwd_bytes(const struct mtlm_call *call);
size_t mtlm_linear_walk_dgrad_bytes(const struct mtlm_call *call);
size_t mtlm_linear_walk_wgrad_bytes(const struct mtlm_call *call);

/* Begins the walk; mtlm_linear_walk_next() advances to the first panel.  The
 * walk needs context->scratch until it ends. */
void mtlm_linear_walk_begin(struct mtlm_linear_walk *walk,
                            const struct mtlm_context *context);

/* Rounds what the panel has computed, and advances to the next panel.  Returns
 * false behind the last one. */
bool mtlm_linear_walk_next(struct mtlm_linear_walk *walk);

/* Computes the product of the panel.  onto: adds the product to what the part
 * of the result holds, even if the walk does not add.  A row of generated text
 * takes a product of matrix and vector, which reads each weight once.  A single
 * row in training keeps the bits of the matrix product. */
void mtlm_linear_walk_multiply(const struct mtlm_linear_walk *walk, bool onto);

#endif /* MTLM_LINEAR_WALK_H */
