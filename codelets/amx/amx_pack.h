#ifndef MTLM_AMX_PACK_H
#define MTLM_AMX_PACK_H

/* Copies matrices to panels, which AMX multiplies; see amx_kernel.h. */

#include "codelets/amx/amx_kernel.h"

/* Returns the steps of a panel with k terms. */
static inline int64_t mtlm_amx_steps(int64_t k)
{
    return (k + MTLM_AMX_TERMS - 1) / MTLM_AMX_TERMS;
}

/* Writes a panel [steps, 2, 16, 32] of A: n rows of k terms, n at most 32, and
 * zeros behind them.  The rows are ld elements apart; trans: the rows are
 * stored as columns. */
void mtlm_amx_pack_a(bool trans, const uint16_t *a, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panel);

/* The same for a panel [steps, 2, 16, 16, 2] of B: n columns of k terms, n at
 * most 32.  The terms of a column are ld elements apart; trans: the columns
 * are stored as rows, which are ld elements apart. */
void mtlm_amx_pack_b(bool trans, const uint16_t *b, int64_t ld, int64_t n,
                     int64_t k, uint16_t *panel);

#endif /* MTLM_AMX_PACK_H */
