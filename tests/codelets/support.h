#ifndef MTLM_TESTS_SUPPORT_H
#define MTLM_TESTS_SUPPORT_H

#include "codelets/op.h"

/* What the tests of kernels have in common.  Memory is the test's own to
 * free; what fails ends the test. */

/* Elements of N(0, 1), the same for the same seed. */
void fill_normal(mtlm_real *x, int64_t n, uint64_t seed);
mtlm_real *new_normal(int64_t n, uint64_t seed);

/* Integers 0 .. below - 1. */
int32_t *new_tokens(int64_t n, int32_t below, uint64_t seed);

/* Elements that a kernel must overwrite: not a number. */
mtlm_real *new_undefined(int64_t n);
mtlm_real *new_zeros(int64_t n);

/* What a microbatch counts in run_op() (struct mtlm_context). */
#define RUN_SHARE 0.25
/* And how many samples the iteration has. */
#define RUN_BATCH 16

/* Infers the shapes that call lacks and runs its CPU kernel in the first
 * microbatch of an iteration.  sample: the microbatch's first.  Returns the
 * call with all shapes. */
struct mtlm_call run_op(struct mtlm_call call, void *const ptr[],
                        int64_t sample);

/* The same for decoding: row 0 is that position, the first rows count. */
struct mtlm_call run_op_at(struct mtlm_call call, void *const ptr[],
                           int64_t sample, int64_t position, int64_t rows);

/* Fails unless call is refused with that text. */
void assert_refused(struct mtlm_call call, const char *text);

/* Greatest difference over greatest value; NaN counts as infinite. */
double worst_error(const mtlm_real *got, const double *want, int64_t n);

#endif /* MTLM_TESTS_SUPPORT_H */
