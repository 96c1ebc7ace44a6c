#ifndef MTLM_AMX_SPLIT_H
#define MTLM_AMX_SPLIT_H

/* Splits fp32 matrices to panels of bf16 numbers, which AMX multiplies; see
 * amx_kernel.h.
 *
 * An fp32 number has 24 bits, and a bf16 number 8.  So a number is the sum of
 * three bf16 numbers, of 2^-8 of its size each after the other: the parts 0, 1
 * and 2.  The sum is exact, unless a part is below 2^-126 and counts as 0, or
 * the number is so large that bf16 rounds it to infinity. */

#include "runtime/amx/amx_kernel.h"

enum { MTLM_AMX_PARTS = 3 }; /* of a number */

/* Writes panels [3, steps, 2, 16, 32] of the first factor: n rows with k terms,
 * a panel for each 32 rows.  Zeros stand behind the last row and term.  Rows
 * are ld elements apart; by_terms: the terms are, and the rows are columns. */
void mtlm_amx_split_first(bool by_terms, const float *from, int64_t ld,
                          int64_t n, int64_t k, uint16_t *panels);

/* The same for panels [3, steps, 2, 16, 16, 2] of the second factor, and n of
 * its columns.  Columns are ld elements apart; by_terms: the terms are. */
void mtlm_amx_split_second(bool by_terms, const float *from, int64_t ld,
                           int64_t n, int64_t k, uint16_t *panels);

#endif /* MTLM_AMX_SPLIT_H */
