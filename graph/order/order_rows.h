#ifndef MTLM_GRAPH_ORDER_ROWS_H
#define MTLM_GRAPH_ORDER_ROWS_H

/* The rows of an order's file (graph/order/order_file.h), without a job that
 * they must fit. */

#include <stdbool.h>
#include <stddef.h>

#include "graph/layout.h"
#include "graph/order/cell.h"
#include "runtime/base/error.h"

/* An action and where it stands. */
struct mtlm_order_entry {
    struct mtlm_cell cell;
    int column; /* from 1 */
};

/* Actions of a pipeline rank, or of a lane of the rank. */
struct mtlm_order_row {
    struct mtlm_order_entry *entry; /* [n] */
    int n;
    size_t room;
    int rank, lane;
};

struct mtlm_order_rows {
    const char *path;           /* borrowed */
    struct mtlm_order_row *row; /* [n], by rank, then by lane */
    int n;
    int ranks;  /* of the pipeline */
    bool lanes; /* rows begin with rank and lane */
};

enum { MTLM_ORDER_PLACE = 64 }; /* bytes of the text of a place */

/* The job that an order is made for. */
struct mtlm_order_shape {
    int ranks, virtual_stages; /* p, v per rank */
    int microbatches;
    enum mtlm_placement placement; /* loop, unless the rows place stage p, 2p,
                                    * ... as v does */
};

/* Reads the rows of a regular file.  A row per rank; or a row per lane, whose
 * first cell is rank and lane, as 0.1.  Empty rows at the end are none. Returns
 * 0, or -1 with MTLM_EXIT_USAGE, rank, column and text in err.  After an error,
 * too, the caller frees the rows with mtlm_order_rows_free(). */
int mtlm_order_rows_read(struct mtlm_order_rows *rows, const char *path,
                         struct mtlm_error *err);

/* Frees the rows, not the struct. */
void mtlm_order_rows_free(struct mtlm_order_rows *rows);

/* Writes where a cell stands: "rank 0, column 3", or "rank 0, lane 1, column
 * 3". */
void mtlm_order_rows_place(const struct mtlm_order_rows *rows, int row,
                           int column, char place[MTLM_ORDER_PLACE]);

/* Sets *shape from the file: ranks are those of its rows, stages and
 * microbatches the largest numbers of F.  Returns 0, or -1 with err: no such
 * file, no F, stages that the ranks cannot share, or less than a quarter of the
 * F of such a job. */
int mtlm_order_rows_shape(const char *path, struct mtlm_order_shape *shape,
                          struct mtlm_error *err);

#endif /* MTLM_GRAPH_ORDER_ROWS_H */
