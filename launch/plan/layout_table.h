#ifndef MTLM_LAYOUT_TABLE_H
#define MTLM_LAYOUT_TABLE_H

/* Tables of layouts, fastest first. */

#include <stdint.h>
#include <stdio.h>

#include "graph/predict/choose.h"

/* A line of a table. */
struct mtlm_layout_row {
    int tp, pp, dp, virtual_stages;
    int64_t micro_batch;
    int granularity; /* of struct mtlm_recompute */
    double seconds;  /* of an iteration */
    int64_t samples; /* of an iteration */
    double memory_bytes;
};

/* Prints the names of the columns and the first ten of n rows. */
void mtlm_layout_table_print(const struct mtlm_layout_row *rows, int n,
                             FILE *out);

/* Prints the ten layouts of shortest forecast among those that
 * mtlm_choose_comparing() compared, and which rates the forecast has.  wish: of
 * that comparison; batch and schedule may be settled since. */
void mtlm_layout_table_print_compared(const struct mtlm_wish *wish,
                                      const struct mtlm_choices *compared,
                                      FILE *out);

#endif /* MTLM_LAYOUT_TABLE_H */
