#ifndef MTLM_AMX_PACK_H
#define MTLM_AMX_PACK_H

/* Copies matrices to panels, which AMX multiplies; see amx_kernel.h. */

#include "runtime/amx/amx_kernel.h"

/* Returns the steps of a panel with k terms. */
static inline int64_t mtlm_amx_steps(int64_t k)
{
    return (k + MTLM_AMX_TERMS - 1) / MTLM_AMX_TERMS;
}

enum { MTLM_AMX_MOST_TERMS = 1024 }; /* of a panel */

/* Returns how many terms a panel has of a product's k: equal parts of all. */
static inline int64_t mtlm_amx_panel_terms(int64_t k)
{
    const int64_t parts = (k + MTLM_AMX_MOST_TERMS - 1) / MTLM_AMX_MOST_TERMS;

    return mtlm_amx_steps((k + parts - 1) / parts) * MTLM_AMX_TERMS;
}

/* Returns row `row` from term `term` on of op(A), or of the transpose of op(B).
 * Stored rows are ld elements apart. */
static inline const uint16_t *mtlm_amx_at(const uint16_t *matrix, bool trans,
                                          int64_t ld, int64_t row, int64_t term)
{
    return matrix + (trans ? term * ld + row : row * ld + term);
}

/* Returns the numbers of a panel with k terms. */
static inline int64_t mtlm_amx_panel(int64_t k)
{
    return mtlm_amx_steps(k) * MTLM_AMX_STEP;
}

/* Writes panels [steps, 2, 16, 32] of A, one for each 32 of n rows with k
 * terms, and zeros behind the last row and term.  The rows are ld elements
 * apart; trans: the rows are stored as columns. */
void mtlm_amx_pack_a(bool trans, const uint16_t *a, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panels);

/* The same for panels [steps, 2, 16, 16, 2] of B and n columns.  The terms of a
 * column are ld elements apart; trans: the columns are stored as rows, which
 * are ld elements apart. */
void mtlm_amx_pack_b(bool trans, const uint16_t *b, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panels);

#endif /* MTLM_AMX_PACK_H */
