/* Reads measured iterations: seconds and options. */

#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/simulate/fit_rows.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"

#define SPACE " \t\r\n"

/* Cuts the options into words.  A CSV file may have quotes around them. */
static void cut_words(struct mtlm_fit_row *row)
{
    char *rest, *word;
    size_t length;

    row->text += strspn(row->text, SPACE);
    length = strlen(row->text);
    while (length > 0 && strchr(SPACE, row->text[length - 1]))
        row->text[--length] = '\0';
    if (length > 1 && row->text[0] == '"' && row->text[length - 1] == '"') {
        row->text[length - 1] = '\0';
        row->text++;
    }
    for (word = strtok_r(row->text, SPACE, &rest); word;
         word = strtok_r(NULL, SPACE, &rest)) {
        row->word = mtlm_realloc(row->word, row->n + 1, sizeof(*row->word));
        row->word[row->n++] = word;
    }
}

/* Sets the row from a line.  Returns whether the line has seconds and
 * options. */
static bool read_row(struct mtlm_fit_row *row, const char *line)
{
    char *end;

    row->seconds = strtod(line, &end);
    end += strspn(end, SPACE);
    if (*end != ',' || !(row->seconds > 0) || isinf(row->seconds))
        return false;
    row->owned = row->text = mtlm_strdup(end + 1);
    cut_words(row);
    return row->n > 0;
}

static int read_lines(struct mtlm_fit_rows *rows, FILE *file, const char *path,
                      struct mtlm_error *err)
{
    char *line = NULL;
    size_t room = 0;
    int number = 0, rc = 0;

    while (rc == 0 && getline(&line, &room, file) >= 0) {
        struct mtlm_fit_row *row;

        number++;
        if (*line == '#' || !line[strspn(line, SPACE)])
            continue;
        rows->row = mtlm_realloc(rows->row, rows->n + 1, sizeof(*rows->row));
        row = &rows->row[rows->n++];
        *row = (struct mtlm_fit_row){.line = number};
        if (!read_row(row, line))
            rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                                "--fit %s:%d: not of the form SECONDS,OPTIONS",
                                path, number);
    }
    if (rc == 0 && ferror(file))
        rc = mtlm_disk_cannot_read(path, err);
    free(line);
    return rc;
}

int mtlm_fit_rows_read(struct mtlm_fit_rows *rows, const char *path,
                       struct mtlm_error *err)
{
    FILE *file = fopen(path, "r");
    int rc;

    *rows = (struct mtlm_fit_rows){0};
    if (!file)
        return mtlm_disk_cannot_read(path, err);
    rc = read_lines(rows, file, path, err);
    fclose(file);
    if (rc == 0 && rows->n == 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "--fit %s: has no measured iterations", path);
    return rc;
}

void mtlm_fit_rows_free(struct mtlm_fit_rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        free(rows->row[i].owned);
        free(rows->row[i].word);
    }
    free(rows->row);
}
