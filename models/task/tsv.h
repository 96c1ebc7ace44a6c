#ifndef MTLM_TSV_H
#define MTLM_TSV_H

#include <stdbool.h>

#include "runtime/file/mapped_file.h"

enum { MTLM_TSV_MOST = 32 };

/* A file whose lines are columns with tabs between them. */
struct mtlm_tsv {
    struct mtlm_mapped_file file;
    int64_t at, line; /* line of the row, from 1 on */

    /* The row's columns, without white space at their ends.  More than
     * MTLM_TSV_MOST columns are counted and not kept. */
    int64_t columns;
    struct mtlm_tsv_column {
        const char *text; /* [bytes], borrowed from the file */
        int64_t bytes;
    } column[MTLM_TSV_MOST];
};

/* Opens a file before its first row; the caller closes it.  Fails like
 * mtlm_mapped_file_open(); MTLM_EXIT_INPUT for an empty file, too. */
int mtlm_tsv_open(struct mtlm_tsv *tsv, const char *path,
                  struct mtlm_error *err);

/* Reads the next row; false: there is none.  White space at both ends of a line
 * does not count, and lines of nothing else are no rows. */
bool mtlm_tsv_next(struct mtlm_tsv *tsv);

/* Whether column i of the row is text. */
bool mtlm_tsv_is(const struct mtlm_tsv *tsv, int64_t i, const char *text);

/* Closes the file.  Does nothing for a zeroed or closed one. */
void mtlm_tsv_close(struct mtlm_tsv *tsv);

#endif /* MTLM_TSV_H */
