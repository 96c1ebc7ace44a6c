#ifndef MTLM_TRACE_CSV_H
#define MTLM_TRACE_CSV_H

/* Reads CSV tables: one record per line, fields quoted (RFC 4180) or not, no
 * line break in a field.  Errors: MTLM_EXIT_INPUT with file and line. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/error.h"

struct mtlm_csv {
    const char *path; /* borrowed */
    FILE *file;
    char *line; /* of the fields */
    size_t room;
    int64_t number; /* of the line, from 1 */
    char **field;   /* [n] of the line read last */
    int n, capacity;
};

/* Opens path and reads its first line. */
int mtlm_csv_open(struct mtlm_csv *csv, const char *path,
                  struct mtlm_error *err);
void mtlm_csv_close(struct mtlm_csv *csv);

/* Index of the column `name` in the first line, just read.  -1: none. */
int mtlm_csv_column(const struct mtlm_csv *csv, const char *name,
                    struct mtlm_error *err);

/* Reads the next line.  1; 0: end of file; -1: unreadable, or not n fields. */
int mtlm_csv_next(struct mtlm_csv *csv, int n, struct mtlm_error *err);

/* Parse the whole text: as an integer from least to most; as a real number. */
int mtlm_csv_integer(const struct mtlm_csv *csv, const char *text,
                     int64_t least, int64_t most, int64_t *value,
                     struct mtlm_error *err);
int mtlm_csv_real(const struct mtlm_csv *csv, const char *text, double *value,
                  struct mtlm_error *err);

#endif /* MTLM_TRACE_CSV_H */
