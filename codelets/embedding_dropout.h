#ifndef MTLM_EMBEDDING_DROPOUT_H
#define MTLM_EMBEDDING_DROPOUT_H

/* Operands of the embedding_dropout operations, for C and CUDA kernels.
 * embedding_dropout.c has formulas and shapes. */

/* embedding_dropout_fwd */
enum { ED_X, ED_Y, ED_COUNT };
/* embedding_dropout_bwd */
enum { EDB_DY, EDB_DX, EDB_COUNT };

#endif /* MTLM_EMBEDDING_DROPOUT_H */
