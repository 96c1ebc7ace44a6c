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
    char *line; /* text of the fields */
    size_t room;
    int64_t number; /* of the line, from 1 */
    char **field;   /* [n] of the line read last */
    int n;
    size_t capacity;
};

/* Opens path and reads the first line, the column names.  The caller closes
 * csv. */
int mtlm_csv_open(struct mtlm_csv *csv, const char *path,
                  struct mtlm_error *err);

/* Closes the file and frees the line. */
void mtlm_csv_close(struct mtlm_csv *csv);

/* Returns the index of the column `name`; -1: none.  Call before the second
 * line is read. */
int mtlm_csv_column(const struct mtlm_csv *csv, const char *name,
                    struct mtlm_error *err);

/* Reads the next line into csv->field.  Returns 1; 0 at the end of the file; -1
 * if the line is unreadable or has not n fields. */
int mtlm_csv_next(struct mtlm_csv *csv, int n, struct mtlm_error *err);

/* Sets *value to the integer that the whole text holds, least .. most. */
int mtlm_csv_integer(const struct mtlm_csv *csv, const char *text,
                     int64_t least, int64_t most, int64_t *value,
                     struct mtlm_error *err);

/* Sets *value to the real number that the whole text holds. */
int mtlm_csv_real(const struct mtlm_csv *csv, const char *text, double *value,
                  struct mtlm_error *err);

#endif /* MTLM_TRACE_CSV_H */
