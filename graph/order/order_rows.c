/* Reads the rows of an order's file. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/order/order_rows.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"

/* Limits of a file: its size, and how many times the F that it has may belong
 * to its stages and microbatches. */
enum { MOST_BYTES = 1 << 30, MOST_LACKING = 4 };

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

/* Reads the lines of text [bytes + 1], which ends in a byte 0, and changes the
 * text. */
static int read_lines(struct mtlm_order_rows *rows, char *text, int64_t bytes,
                      struct mtlm_error *err)
{
    char *const end = text + bytes;
    int rc = 0;

    while (rc == 0 && text < end) {
        char *newline = memchr(text, '\n', end - text);
        char *next = newline ? newline + 1 : end;
        struct mtlm_order_row row = {0};

        if (newline)
            *newline = '\0';
        if (text + strlen(text) != (newline ? newline : end))
            rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                                "%s: rank %d: a byte 0; the file is no CSV",
                                rows->path, rows->n);
        text[strcspn(text, "\r")] = '\0';
        if (rc == 0)
            rc = read_row(rows, &row, text, err);
        rows->row = mtlm_realloc(rows->row, rows->n + 1, sizeof(*rows->row));
        rows->row[rows->n++] = row;
        text = next;
    }
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
    struct mtlm_mapped_file file;
    int rc = mtlm_mapped_file_read(&file, path, MOST_BYTES, err);
    char *text;

    *rows = (struct mtlm_order_rows){.path = path};
    if (rc < 0) {
        err->code = MTLM_EXIT_USAGE; /* the file is part of the options */
        return -1;
    }
    text = mtlm_calloc(file.bytes + 1, 1);
    if (file.bytes > 0)
        memcpy(text, file.data, file.bytes);
    rc = read_lines(rows, text, file.bytes, err);
    free(text);
    mtlm_mapped_file_close(&file);
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

/* The F of all rows. */
struct forwards {
    int64_t n;
    int stage, microbatch; /* the largest; -1: no F */
    /* The F with the largest microbatch. */
    struct mtlm_order_entry last;
    int last_rank;
};

static struct forwards find_forwards(const struct mtlm_order_rows *rows)
{
    struct forwards f = {.stage = -1, .microbatch = -1};

    for (int i = 0; i < rows->n; i++)
        for (int j = 0; j < rows->row[i].n; j++) {
            const struct mtlm_order_entry *entry = &rows->row[i].entry[j];

            if (entry->cell.kind != MTLM_CELL_FORWARD)
                continue;
            f.n++;
            if (entry->cell.stage > f.stage)
                f.stage = entry->cell.stage;
            if (entry->cell.microbatch <= f.microbatch)
                continue;
            f.microbatch = entry->cell.microbatch;
            f.last = *entry;
            f.last_rank = i;
        }
    return f;
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
    const struct forwards f = find_forwards(rows);
    const int64_t stages = f.stage + 1, microbatches = f.microbatch + 1;

    if (stages == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s has no F; a row lists the actions of a "
                              "pipeline rank, as 0F0,0F1,0B0,0B1",
                              rows->path);
    if (stages % rows->n != 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s has stages 0 to %d, and its %d rows, one per "
                              "pipeline rank, cannot share %d stages",
                              rows->path, f.stage, rows->n, f.stage + 1);
    /* A wrong number must not cost memory. */
    if (stages * microbatches > MOST_LACKING * f.n)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s: rank %d, column %d: with %dF%d, stages 0 to %d have %" PRId64
            " F, and the file has %" PRId64,
            rows->path, f.last_rank, f.last.column, f.last.cell.stage,
            f.last.cell.microbatch, f.stage, stages * microbatches, f.n);
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
