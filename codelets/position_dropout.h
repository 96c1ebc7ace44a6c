#ifndef MTLM_POSITION_DROPOUT_H
#define MTLM_POSITION_DROPOUT_H

/* Operands of the position_dropout operations, for C and CUDA kernels: position
 * embedding, then dropout.  position_dropout.c has formulas and shapes. */

/* position_dropout_fwd */
enum { PD_X, PD_POS, PD_Y, PD_COUNT };
/* position_dropout_bwd */
enum { PDB_DY, PDB_DX, PDB_DPOS, PDB_COUNT };

#endif /* MTLM_POSITION_DROPOUT_H */
