#ifndef MTLM_PACK_H
#define MTLM_PACK_H

/* Packed weights of bf16: copies in the layout that the processor multiplies.
 * Without them every product packs its weight anew.  Forward products and those
 * of input gradients need a packed weight each. */

#include "codelets/op.h"

/* pack: weight, packed [n, k] */
enum { PACK_WEIGHT, PACK_PACKED, PACK_COUNT };

/* Who reads a packed weight. */
enum mtlm_pack { MTLM_PACK_NOTHING, MTLM_PACK_FORWARD, MTLM_PACK_GRADIENT };

/* Operands of every operation that reads packed weights. */
enum { PACK_READER_X, PACK_READER_WEIGHT };

/* Returns which packed weight the operation can read. */
enum mtlm_pack mtlm_pack_reads(enum mtlm_op_kind kind);

/* Returns whether the call, an operation that reads packed weights, can read
 * what a call of pack with attr writes.  It can where the processor multiplies
 * bf16, in one layout for both, of the plain weight's size. */
bool mtlm_pack_fits(const struct mtlm_call *call, const union mtlm_attr *attr);

#endif /* MTLM_PACK_H */
