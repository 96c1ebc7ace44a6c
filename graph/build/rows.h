#ifndef MTLM_GRAPH_ROWS_H
#define MTLM_GRAPH_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct mtlm_tensor;

/* Activations [s, b, h] are cut along the sequence into parts, each a tensor
 * with nodes of its own, so that the workers of a rank share even a single
 * sample, and so that a part's communication overlaps the others' work.  Only
 * attention lets parts meet.  The cut follows from the shape alone, never from
 * workers or layout: it decides the order of sums, and so the bits. */

enum { MTLM_MAX_ROW_PARTS = 8 };

/* An activation of a microbatch: its parts [s_i, b, ..]. */
struct mtlm_rows {
    struct mtlm_tensor *part[MTLM_MAX_ROW_PARTS];
};

/* How many parts a sample is cut into, for microbatches of b samples of
 * length s, m of them in an iteration. */
int mtlm_rows_parts(int64_t s, int64_t b, int64_t m);

/* Rows first .. first + count - 1 of s are part i of n.  Parts are equal where
 * n divides s; else they are multiples of some rows that do, as long as they
 * differ by little, so that ranks can share them. */
void mtlm_rows_part(int64_t s, int n, int i, int64_t *first, int64_t *count);

/* Whether t ranks can share the rows of every part evenly. */
bool mtlm_rows_parts_divide(int64_t s, int n, int t);

#endif /* MTLM_GRAPH_ROWS_H */
