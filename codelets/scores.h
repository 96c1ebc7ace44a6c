#ifndef MTLM_SCORES_H
#define MTLM_SCORES_H

/* Operands of the scores operations, for C and CUDA kernels.  scores.c has
 * formulas and shapes. */

/* scores_fwd */
enum { SC_X, SC_LENGTHS, SC_Y, SC_COUNT };
/* scores_bwd */
enum { SCB_LENGTHS, SCB_DY, SCB_DX, SCB_COUNT };

/* The score of padding, which has no share of a softmax. */
#define MTLM_SCORE_OF_PADDING (-10000)

#endif /* MTLM_SCORES_H */
