#ifndef MTLM_STATUS_H
#define MTLM_STATUS_H

/* Operands of the operations of status.c, for C and CUDA kernels: square_sum
 * and count_zeros, norm, publish, flags, control_init, control, eval_report. */
enum { SQ_G, SQ_STATUS, SQ_COUNT };
enum { NORM_SUMS, NORM_NORM };
enum { PUBLISH_LOSS, PUBLISH_STATUS };
enum { FLAGS_STATUS };
enum { CONTROL_INIT_CONTROL };
enum { CONTROL_STATUS, CONTROL_CONTROL, CONTROL_REPORT };
enum { EVAL_STATUS, EVAL_REPORT };

#endif /* MTLM_STATUS_H */
