/* Reads the rows of an order's file. */

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/order/order_rows.h"
#include "runtime/base/memory.h"

static void add_entry(struct mtlm_order_row *row, struct mtlm_cell cell,
                      int column)
{
    if (row->n == row->room) {
        row->room = 2 * row->room + 64;
        row->entry = mtlm_realloc(row->entry, row->room, sizeof(*row->entry));
    }
    row->entry[row->n++] = (struct mtlm_order_entry){cell, column};
}

/* Reads a line of cells; quotes around a cell are allowed. */
static int read_row(const struct mtlm_order_rows *rows,
                    struct mtlm_order_row *row, char *line,
                    struct mtlm_error *err)
{
    char *rest = line, *text;
    int column = 0;

    while ((text = strsep(&rest, ","))) {
        struct mtlm_cell action[MTLM_CELL_MOST];
        const size_t length = strlen(text);
        int n;

        column++;
        if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
            text[length - 1] = '\0';
            text++;
        }
        n = mtlm_cell_read(text, action);
        if (n < 0)
            return mtlm_error_set(
                err, MTLM_EXIT_USAGE,
                "%s: rank %d, column %d: '%.40s' is no action; an action is a "
                "stage, F, I, W or B, and a microbatch, as 2F0",
                rows->path, rows->n, column, text);
        for (int i = 0; i < n; i++)
            add_entry(row, action[i], column);
    }
    return 0;
}

static int read_rows(struct mtlm_order_rows *rows, FILE *file,
                     struct mtlm_error *err)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    int rc = 0;

    while (rc == 0 && (bytes = getline(&line, &room, file)) >= 0) {
        struct mtlm_order_row row = {0};

        if (strlen(line) != (size_t) bytes)
            rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                                "%s: rank %d: a byte 0; the file is no CSV",
                                rows->path, rows->n);
        line[strcspn(line, "\r\n")] = '\0';
        if (rc == 0)
            rc = read_row(rows, &row, line, err);
        rows->row = mtlm_realloc(rows->row, rows->n + 1, sizeof(*rows->row));
        rows->row[rows->n++] = row;
    }
    if (rc == 0 && ferror(file))
        rc = mtlm_error_set(err, MTLM_EXIT_IO, "%s: %s", rows->path,
                            strerror(errno));
    free(line);
    return rc;
}

/* Rows without actions at the end of the file are none. */
static void drop_empty_rows(struct mtlm_order_rows *rows)
{
    while (rows->n > 0 && rows->row[rows->n - 1].n == 0)
        free(rows->row[--rows->n].entry);
}

int mtlm_order_rows_read(struct mtlm_order_rows *rows, const char *path,
                         struct mtlm_error *err)
{
    FILE *file = fopen(path, "re");
    int rc;

    *rows = (struct mtlm_order_rows){.path = path};
    if (!file)
        return mtlm_error_set(err, MTLM_EXIT_IO, "%s: %s", path,
                              strerror(errno));
    rc = read_rows(rows, file, err);
    fclose(file);
    drop_empty_rows(rows);
    return rc;
}

void mtlm_order_rows_free(struct mtlm_order_rows *rows)
{
    for (int i = 0; i < rows->n; i++)
        free(rows->row[i].entry);
    free(rows->row);
}

/* ---- the shape ---- */

/* The largest numbers of the rows' F. */
struct largest {
    int stage, microbatch; /* -1: no F */
    int64_t forward;       /* number of F */
};

static struct largest find_largest(const struct mtlm_order_rows *rows)
{
    struct largest most = {-1, -1, 0};

    for (int i = 0; i < rows->n; i++)
        for (int j = 0; j < rows->row[i].n; j++) {
            const struct mtlm_cell *cell = &rows->row[i].entry[j].cell;

            if (cell->kind != MTLM_CELL_FORWARD)
                continue;
            most.forward++;
            if (cell->stage > most.stage)
                most.stage = cell->stage;
            if (cell->microbatch > most.microbatch)
                most.microbatch = cell->microbatch;
        }
    return most;
}

/* Whether the row has an F of the stage. */
static bool has_stage(const struct mtlm_order_row *row, int stage)
{
    for (int j = 0; j < row->n; j++)
        if (row->entry[j].cell.kind == MTLM_CELL_FORWARD
            && row->entry[j].cell.stage == stage)
            return true;
    return false;
}

static int find_shape(const struct mtlm_order_rows *rows,
                      struct mtlm_order_shape *shape, struct mtlm_error *err)
{
    const struct largest most = find_largest(rows);
    const int64_t stages = most.stage + 1, microbatches = most.microbatch + 1;

    if (stages == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s has no F; a row lists the actions of a "
                              "pipeline rank, as 0F0,0F1,0B0,0B1",
                              rows->path);
    if (stages % rows->n != 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s has stages 0 to %d, and its %d rows, one per "
                              "pipeline rank, cannot share %d stages",
                              rows->path, most.stage, rows->n, most.stage + 1);
    if (stages * microbatches != most.forward)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s has stages 0 to %d and microbatches 0 to %d, which are %" PRId64
            " F, and %" PRId64 " F are there",
            rows->path, most.stage, most.microbatch, stages * microbatches,
            most.forward);
    *shape = (struct mtlm_order_shape){
        .ranks = rows->n,
        .virtual_stages = stages / rows->n,
        .microbatches = microbatches,
        .placement = rows->n > 1 && has_stage(&rows->row[rows->n - 1], rows->n)
                         ? MTLM_PLACEMENT_V
                         : MTLM_PLACEMENT_LOOP};
    return 0;
}

int mtlm_order_rows_shape(const char *path, struct mtlm_order_shape *shape,
                          struct mtlm_error *err)
{
    struct mtlm_order_rows rows;
    int rc = mtlm_order_rows_read(&rows, path, err);

    if (rc == 0)
        rc = find_shape(&rows, shape, err);
    mtlm_order_rows_free(&rows);
    return rc;
}
