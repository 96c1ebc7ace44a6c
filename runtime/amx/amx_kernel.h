#ifndef MTLM_AMX_KERNEL_H
#define MTLM_AMX_KERNEL_H

/* AMX, the matrix unit of Intel's processors from Sapphire Rapids on.  The unit
 * has eight tiles of 16 rows of 64 bytes.  An instruction adds the product of
 * two bf16 tiles to an fp32 tile: [16, 32] x [32, 16] (Intel 64 and IA-32
 * Architectures Software Developer's Manual, volume 2, TDPBF16PS). */

#include <stdbool.h>
#include <stdint.h>

enum {
    MTLM_AMX_ROWS = 16,  /* of a tile; a row has 16 fp32 numbers */
    MTLM_AMX_TERMS = 32, /* or 32 bf16 numbers */
    MTLM_AMX_TILE = MTLM_AMX_ROWS * MTLM_AMX_TERMS, /* bf16 numbers */
    MTLM_AMX_SIDE = 2 * MTLM_AMX_ROWS, /* rows and columns of a block */
    /* bf16 numbers of a step of a panel: two tiles. */
    MTLM_AMX_STEP = 2 * MTLM_AMX_TILE,
};

/* Returns whether the processor has AMX for bf16 and the system lets this
 * process use AMX. */
bool mtlm_amx_allowed(void);

/* Configures the tiles of this thread, for the products below. */
void mtlm_amx_begin(void);

/* Releases the tiles of this thread.  Stores past the caches are complete
 * before later stores of the thread. */
void mtlm_amx_end(void);

/* What to fetch from memory during a product: `rows` rows of `lines` lines per
 * step, `stride` bytes apart; the next step's are `step` bytes further.  Rows
 * to write have one or two lines. */
struct mtlm_amx_ahead {
    const char *at;
    int64_t rows, lines, stride, step;
};

/* Adds the product of a panel of A and a panel of B to sums [32, 32], or sets
 * sums unless add.  A panel of A is 32 rows with 32 terms a step.  ld: the
 * panel's rows are ld elements apart, as a matrix is stored; but if ld is 32,
 * the panel is [steps, 2, 16, 32].  A panel of B is [steps, 2, 16, 16, 2]:
 * element [s, h, i, j, p] is term 32 s + 2 i + p of column 16 h + j.  Fetches
 * what to_read and to_write say.  Both come by their address: a copy would load
 * several numbers at once, and such a load waits until their stores are done.
 */
void mtlm_amx_multiply(const uint16_t *a, int64_t ld, const uint16_t *b,
                       int64_t steps, bool add, float *sums,
                       const struct mtlm_amx_ahead *to_read,
                       const struct mtlm_amx_ahead *to_write);

/* Sets sums [32, 32] to the product of two panels of split fp32 numbers; see
 * amx_split.h.  Of the nine products of parts it leaves out the three smallest:
 * together less than 2^-22 of a product of numbers.  Of 32 terms the largest
 * product is added last. */
void mtlm_amx_multiply_split(const uint16_t *a, const uint16_t *b,
                             int64_t steps, float *sums,
                             const struct mtlm_amx_ahead *to_read,
                             const struct mtlm_amx_ahead *to_write);

#endif /* MTLM_AMX_KERNEL_H */
