#ifndef MTLM_GRAPH_ROW_PARTS_H
#define MTLM_GRAPH_ROW_PARTS_H

/* Row parts: activations [s, b, h] are cut along the sequence into parts.  Each
 * part is a tensor with nodes of its own.  The workers of a rank so share even
 * a single sample, and one part's communication overlaps the computation of
 * others.  Parts meet in attention only.  The cut decides the order of sums and
 * so the bits.  So the cut depends on s, b and the microbatches of a replica in
 * an iteration; not on workers, tensor-parallel or pipeline ranks.  The one
 * exception: parts that ranks cannot share (mtlm_stage_parts()). */

#include <stdbool.h>
#include <stdint.h>

struct mtlm_tensor;

enum { MTLM_MAX_ROW_PARTS = 8 };

/* An activation of a microbatch: its parts, each [s_i, b, ..]. */
struct mtlm_rows {
    struct mtlm_tensor *part[MTLM_MAX_ROW_PARTS];
};

/* Returns the number of parts of a sample of length s, for microbatches of b
 * samples and m microbatches per iteration. */
int mtlm_row_parts_count(int64_t s, int64_t b, int64_t m);

/* Sets first and count: part i of n has rows first .. first + count - 1 of s.
 * Parts are equal if n divides s.  Else parts are multiples of a divisor of s,
 * if the parts then differ by at most an eighth; ranks can share such parts
 * evenly. */
void mtlm_row_parts_get(int64_t s, int n, int i, int64_t *first,
                        int64_t *count);

/* Returns whether t ranks can share the rows of every part evenly. */
bool mtlm_row_parts_divide(int64_t s, int n, int t);

#endif /* MTLM_GRAPH_ROW_PARTS_H */
