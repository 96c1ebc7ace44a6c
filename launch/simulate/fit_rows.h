#ifndef MTLM_FIT_ROWS_H
#define MTLM_FIT_ROWS_H

/* Measured iterations of a CSV file: a line SECONDS,OPTIONS for each, options
 * of mtlm-dag apart by spaces.  Lines that begin with # are comments. */

#include "runtime/base/error.h"

struct mtlm_fit_row {
    double seconds; /* measured, positive */
    int line;       /* in the file, from 1 */
    char *owned;    /* words point into it */
    char *text;     /* where its words begin */
    char **word;    /* [n] options */
    int n;
};

struct mtlm_fit_rows {
    struct mtlm_fit_row *row; /* [n] */
    int n;
};

/* Reads the file.  Sets *err if the file cannot be read, or has no rows
 * (MTLM_EXIT_INPUT, MTLM_EXIT_IO).  The caller frees the rows in all cases. */
int mtlm_fit_rows_read(struct mtlm_fit_rows *rows, const char *path,
                       struct mtlm_error *err);

void mtlm_fit_rows_free(struct mtlm_fit_rows *rows);

#endif /* MTLM_FIT_ROWS_H */
