#ifndef MTLM_ELEMENTWISE_H
#define MTLM_ELEMENTWISE_H

/* Operands of add and add_clear (ADD_Y, ADD_X), and of fill and zero (FILL_X),
 * for C and CUDA kernels. */
enum { ADD_Y, ADD_X, ADD_COUNT };
enum { FILL_X, FILL_COUNT };

#endif /* MTLM_ELEMENTWISE_H */
