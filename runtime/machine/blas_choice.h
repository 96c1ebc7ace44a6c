#ifndef MTLM_BLAS_CHOICE_H
#define MTLM_BLAS_CHOICE_H

/* The choice of the BLAS by measurement.  mtlm-dag/blas.json in the user's
 * cache directory keeps the choice: the same job has the same bits next time.
 * The file holds a choice for each processor: machines may share it. */

#include <stdbool.h>
#include <stddef.h>

/* Returns the index in mtlm_blas_name[] of the fastest library of this machine;
 * the default, unless another is more than 3 % faster.  Takes the choice that
 * is kept, where processor and libraries are still the same; otherwise, or if
 * `anew`, measures for about a second and keeps the result.  Without a
 * cache directory: the default, unless `anew`.
 *
 * Writes a line for the user to note [bytes]: what was measured, or why a
 * choice that is kept does not count; empty: nothing to say. */
int mtlm_blas_choice_find(bool anew, char *note, size_t bytes);

/* Returns the choice that is kept and counts, or else the default.  Measures
 * nothing. */
int mtlm_blas_choice_kept(void);

#endif /* MTLM_BLAS_CHOICE_H */
