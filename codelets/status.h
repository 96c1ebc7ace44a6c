#ifndef MTLM_STATUS_H
#define MTLM_STATUS_H

/* Operands of the operations at the end of an iteration, for C and CUDA
 * kernels.  status.c has formulas and shapes. */

/* square_sum, count_zeros */
enum { SQ_G, SQ_STATUS, SQ_COUNT };
/* norm */
enum { NORM_SUMS, NORM_NORM };
/* publish */
enum { PUBLISH_LOSS, PUBLISH_STATUS };
/* flags */
enum { FLAGS_STATUS };
/* control_init */
enum { CONTROL_INIT_CONTROL };
/* control */
enum { CONTROL_STATUS, CONTROL_CONTROL, CONTROL_REPORT };
/* eval_report */
enum { EVAL_STATUS, EVAL_REPORT };

#endif /* MTLM_STATUS_H */
