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
    row->entry =
        mtlm_make_room(row->entry, &row->room, row->n + 1, sizeof(*row->entry));
    row->entry[row->n++] = (struct mtlm_order_entry){cell, column};
}

void mtlm_order_rows_place(const struct mtlm_order_rows *rows, int row,
                           int column, char place[MTLM_ORDER_PLACE])
{
    const struct mtlm_order_row *at = &rows->row[row];
    char lane[24] = "";

    if (rows->lanes)
        snprintf(lane, sizeof(lane), ", lane %d", at->lane);
    snprintf(place, MTLM_ORDER_PLACE, "rank %d%s, column %d", at->rank, lane,
             column);
}

/* Reads the first cell of a row of a lane, <rank>.<lane>.  Returns whether the
 * text is one. */
static bool read_lane(const char *text, struct mtlm_order_row *row)
{
    enum { MOST_DIGITS = 6 };
    int *const number[] = {&row->rank, &row->lane};
    int value[2] = {0, 0};

    text += strspn(text, " \t");
    for (int i = 0; i < 2; i++) {
        const size_t digits = strspn(text, "0123456789");

        if (digits == 0 || digits > MOST_DIGITS)
            return false;
        value[i] = atoi(text);
        text += digits;
        if (i == 0 && *text++ != '.')
            return false;
    }
    if (text[strspn(text, " \t")])
        return false;
    for (int i = 0; i < 2; i++)
        *number[i] = value[i];
    return true;
}

/* Checks that a row of a lane follows the row before: the next lane, or lane 0
 * of the next rank. */
static int check_lane(const struct mtlm_order_rows *rows,
                      struct mtlm_error *err)
{
    const struct mtlm_order_row *row = &rows->row[rows->n - 1];
    const struct mtlm_order_row *before = rows->n > 1 ? row - 1 : NULL;

    if (before ? (row->rank == before->rank && row->lane == before->lane + 1)
                     || (row->rank == before->rank + 1 && row->lane == 0)
               : row->rank == 0 && row->lane == 0)
        return 0;
    if (!before)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: row 1 begins with %d.%d; the first row is "
                              "rank 0, lane 0, as 0.0",
                              rows->path, row->rank, row->lane);
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s: row %d begins with %d.%d, and the row before "
                          "with %d.%d; the next is %d.%d or %d.0",
                          rows->path, rows->n, row->rank, row->lane,
                          before->rank, before->lane, before->rank,
                          before->lane + 1, before->rank + 1);
}

/* Sets rank and lane of the last row.  lane: the row begins with both. */
static int place_row(struct mtlm_order_rows *rows, bool lane,
                     struct mtlm_error *err)
{
    struct mtlm_order_row *row = &rows->row[rows->n - 1];

    if (rows->n == 1)
        rows->lanes = lane;
    if (rows->lanes != lane)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s: row %d %s rank and lane, and row 1 %s; "
            "either all rows begin with both, as 0.1, or none",
            rows->path, rows->n, lane ? "begins with" : "has no",
            lane ? "does not" : "has");
    if (lane)
        return check_lane(rows, err);
    row->rank = rows->n - 1;
    return 0;
}

/* Takes quotes off a cell. */
static char *unquote(char *text)
{
    const size_t length = strlen(text);

    if (length < 2 || text[0] != '"' || text[length - 1] != '"')
        return text;
    text[length - 1] = '\0';
    return text + 1;
}

/* Reads a cell into the last row. */
static int read_cell(struct mtlm_order_rows *rows, const char *text, int column,
                     struct mtlm_error *err)
{
    struct mtlm_cell action[MTLM_CELL_MOST];
    const int n = mtlm_cell_read(text, action);
    char place[MTLM_ORDER_PLACE];

    if (n < 0) {
        mtlm_order_rows_place(rows, rows->n - 1, column, place);
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: %s: '%.40s' is no action; an action is a "
                              "stage, F, I, W or B, and a microbatch, as 2F0",
                              rows->path, place, text);
    }
    for (int i = 0; i < n; i++)
        add_entry(&rows->row[rows->n - 1], action[i], column);
    return 0;
}

/* Reads a line into the last row; quotes around a cell are allowed.  Where rows
 * are lanes, an empty line is no row. */
static int read_row(struct mtlm_order_rows *rows, char *line,
                    struct mtlm_error *err)
{
    const bool empty = !line[strspn(line, " \t")];
    char *rest = line, *text = unquote(strsep(&rest, ","));
    const bool lane = read_lane(text, &rows->row[rows->n - 1]);
    int column = 1;

    if (rows->lanes && empty) {
        rows->n--;
        return 0;
    }
    if (place_row(rows, lane, err) < 0)
        return -1;
    if (!lane && read_cell(rows, text, column, err) < 0)
        return -1;
    while ((text = strsep(&rest, ",")))
        if (read_cell(rows, unquote(text), ++column, err) < 0)
            return -1;
    return 0;
}

/* Checks a line, which ends in a byte 0 and should have length bytes.  Takes
 * one carriage return off the end. */
static int end_line(const struct mtlm_order_rows *rows, char *line,
                    size_t length, struct mtlm_error *err)
{
    if (strlen(line) != length)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: row %d: a byte 0; the file is no CSV",
                              rows->path, rows->n + 1);
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    if (!strchr(line, '\r'))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s: row %d: a carriage return inside the row",
                          rows->path, rows->n + 1);
}

/* Returns the text behind a byte order mark, which some programs write. */
static char *skip_mark(char *text)
{
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t length = sizeof(mark) - 1;

    return strncmp(text, mark, length) == 0 ? text + length : text;
}

/* Reads the lines of text [bytes + 1], which ends in a byte 0, and changes the
 * text. */
static int read_lines(struct mtlm_order_rows *rows, char *text, int64_t bytes,
                      struct mtlm_error *err)
{
    char *const end = text + bytes;
    int rc = 0;

    text = skip_mark(text);
    while (rc == 0 && text < end) {
        char *newline = memchr(text, '\n', end - text);
        char *next = newline ? newline + 1 : end;

        if (newline)
            *newline = '\0';
        if (end_line(rows, text, (newline ? newline : end) - text, err) < 0)
            return -1;
        rows->row = mtlm_realloc(rows->row, rows->n + 1, sizeof(*rows->row));
        rows->row[rows->n++] = (struct mtlm_order_row){0};
        rc = read_row(rows, text, err);
        text = next;
    }
    return rc;
}

/* Rows without actions at the end of the file are none. */
static void drop_empty_rows(struct mtlm_order_rows *rows)
{
    while (rows->n > 0 && rows->row[rows->n - 1].n == 0)
        free(rows->row[--rows->n].entry);
    rows->ranks = rows->n > 0 ? rows->row[rows->n - 1].rank + 1 : 0;
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
    int last_row;
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
            f.last_row = i;
        }
    return f;
}

/* Whether the last rank has an F of the stage. */
static bool last_has(const struct mtlm_order_rows *rows, int stage)
{
    for (int i = rows->n - 1; i >= 0 && rows->row[i].rank == rows->ranks - 1;
         i--)
        for (int j = 0; j < rows->row[i].n; j++) {
            const struct mtlm_cell *cell = &rows->row[i].entry[j].cell;

            if (cell->kind == MTLM_CELL_FORWARD && cell->stage == stage)
                return true;
        }
    return false;
}

static int find_shape(const struct mtlm_order_rows *rows,
                      struct mtlm_order_shape *shape, struct mtlm_error *err)
{
    const struct forwards f = find_forwards(rows);
    const int64_t stages = f.stage + 1, microbatches = f.microbatch + 1;
    char place[MTLM_ORDER_PLACE];

    if (stages == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s has no F; a row lists the actions of a "
                              "pipeline rank, as 0F0,0F1,0B0,0B1",
                              rows->path);
    if (stages % rows->ranks != 0)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s has stages 0 to %d, and its %d pipeline ranks "
            "cannot share %d stages",
            rows->path, f.stage, rows->ranks, f.stage + 1);
    /* A wrong number must not cost memory. */
    if (stages * microbatches > MOST_LACKING * f.n) {
        mtlm_order_rows_place(rows, f.last_row, f.last.column, place);
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: %s: with %dF%d, stages 0 to %d have %" PRId64
                              " F, and the file has %" PRId64,
                              rows->path, place, f.last.cell.stage,
                              f.last.cell.microbatch, f.stage,
                              stages * microbatches, f.n);
    }
    *shape = (struct mtlm_order_shape){
        .ranks = rows->ranks,
        .virtual_stages = stages / rows->ranks,
        .microbatches = microbatches,
        .placement = rows->ranks > 1 && last_has(rows, rows->ranks)
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
