#ifndef MTLM_POSITION_DROPOUT_H
#define MTLM_POSITION_DROPOUT_H

/* Operands of the position_dropout operations, for C and CUDA kernels. */
enum { PD_X, PD_POS, PD_Y, PD_COUNT };
enum { PDB_DY, PDB_DX, PDB_DPOS, PDB_COUNT };

#endif /* MTLM_POSITION_DROPOUT_H */
