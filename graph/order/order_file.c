/* Reads, checks and writes files of orders. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/order/order_file.h"
#include "graph/order/order_rows.h"
#include "graph/order/walk.h"
#include "runtime/base/memory.h"
#include "runtime/file/output_file.h"

struct order_reading {
    const char *path;
    const struct mtlm_boxes *boxes;
    struct mtlm_order_rows rows;
    bool older;
    int *column; /* [boxes] where a box stands; 0: nowhere */
    struct mtlm_order_file_notes *notes;
    struct mtlm_error *err;
};

static const char *const letters[] = {[MTLM_PHASE_FORWARD] = "F",
                                      [MTLM_PHASE_BACKWARD] = "I",
                                      [MTLM_PHASE_WEIGHT] = "W"};

/* The same actions in the words of a file. */
static const char *const cell_letters[] = {
    [MTLM_CELL_FORWARD] = "F", [MTLM_CELL_INPUT] = "I",
    [MTLM_CELL_WEIGHT] = "W",  [MTLM_CELL_BACKWARD] = "B",
    [MTLM_CELL_BOTH] = "BW",
};

/* ---- dialect ---- */

/* Whether a row has BW, or a B with a later W of its stage and microbatch.
 * seen [stages * m]: B so far. */
static bool row_is_older(const struct order_reading *r,
                         const struct mtlm_order_row *row, bool *seen)
{
    const int stages = mtlm_layout_stages(r->boxes->layout);
    const int m = r->boxes->microbatches;

    for (int i = 0; i < row->n; i++) {
        const struct mtlm_cell *cell = &row->entry[i].cell;
        const int64_t at = (int64_t) cell->stage * m + cell->microbatch;

        if (cell->kind == MTLM_CELL_BOTH)
            return true;
        if (cell->stage >= stages || cell->microbatch < 0
            || cell->microbatch >= m)
            continue; /* refused later */
        if (cell->kind == MTLM_CELL_WEIGHT && seen[at])
            return true;
        seen[at] |= cell->kind == MTLM_CELL_BACKWARD;
    }
    return false;
}

static bool is_older(const struct order_reading *r)
{
    bool *seen = mtlm_calloc((size_t) mtlm_layout_stages(r->boxes->layout)
                                 * r->boxes->microbatches,
                             sizeof(*seen));
    bool older = false;

    for (int i = 0; i < r->rows.n && !older; i++)
        older = row_is_older(r, &r->rows.row[i], seen);
    free(seen);
    return older;
}

/* ---- boxes ---- */

static int refuse(struct order_reading *r, int rank,
                  const struct mtlm_order_entry *entry, const char *why)
{
    const struct mtlm_cell *cell = &entry->cell;

    return mtlm_error_set(r->err, MTLM_EXIT_USAGE,
                          "%s: rank %d, column %d: %d%s%d %s", r->path, rank,
                          entry->column, cell->stage, cell_letters[cell->kind],
                          cell->microbatch, why);
}

/* Appends the box, all pieces of a W. */
static int add_box(struct order_reading *r, int rank,
                   const struct mtlm_order_entry *entry, enum mtlm_phase phase,
                   struct mtlm_box_order *order)
{
    const struct mtlm_cell *cell = &entry->cell;
    struct mtlm_box box = {phase, cell->stage, cell->microbatch, 0};
    const int pieces = phase == MTLM_PHASE_WEIGHT ? r->boxes->pieces : 1;
    char why[80];

    if (cell->stage >= mtlm_layout_stages(r->boxes->layout)) {
        snprintf(why, sizeof(why),
                 "is of stage %d, this job has stages 0 to %d", cell->stage,
                 mtlm_layout_stages(r->boxes->layout) - 1);
        return refuse(r, rank, entry, why);
    }
    if (cell->microbatch >= r->boxes->microbatches) {
        snprintf(why, sizeof(why), "is of microbatch %d, this job has 0 to %d",
                 cell->microbatch, r->boxes->microbatches - 1);
        return refuse(r, rank, entry, why);
    }
    if (mtlm_layout_pp_rank(r->boxes->layout, cell->stage) != rank) {
        snprintf(why, sizeof(why), "is of stage %d, which is on rank %d",
                 cell->stage,
                 mtlm_layout_pp_rank(r->boxes->layout, cell->stage));
        return refuse(r, rank, entry, why);
    }
    for (; box.piece < pieces; box.piece++) {
        const int number = mtlm_box_number(r->boxes, box);

        if (r->column[number]) {
            snprintf(why, sizeof(why), "stands in column %d already",
                     r->column[number]);
            return refuse(r, rank, entry, why);
        }
        r->column[number] = entry->column;
        mtlm_order_append(order, r->boxes, number);
    }
    return 0;
}

/* Appends what a cell stands for. */
static int add_cell(struct order_reading *r, int rank,
                    const struct mtlm_order_entry *entry,
                    struct mtlm_box_order *order)
{
    const enum mtlm_cell_kind kind = entry->cell.kind;
    const bool both =
        kind == MTLM_CELL_BOTH || (kind == MTLM_CELL_BACKWARD && !r->older);
    int rc = 0;

    if (kind == MTLM_CELL_MESSAGE)
        r->notes->messages++;
    else if (kind == MTLM_CELL_SHARDING)
        r->notes->sharding++;
    else if (kind == MTLM_CELL_FORWARD)
        rc = add_box(r, rank, entry, MTLM_PHASE_FORWARD, order);
    else if (kind != MTLM_CELL_WEIGHT)
        rc = add_box(r, rank, entry, MTLM_PHASE_BACKWARD, order);
    if (rc == 0 && (both || kind == MTLM_CELL_WEIGHT))
        rc = add_box(r, rank, entry, MTLM_PHASE_WEIGHT, order);
    return rc;
}

static int add_boxes(struct order_reading *r, struct mtlm_box_order *order)
{
    const int ranks = r->boxes->layout->pp;

    if (r->rows.n != ranks)
        return mtlm_error_set(
            r->err, MTLM_EXIT_USAGE,
            "%s has %d row%s, one per pipeline rank; this job has %d pipeline "
            "rank%s",
            r->path, r->rows.n, r->rows.n == 1 ? "" : "s", ranks,
            ranks == 1 ? "" : "s");
    for (int i = 0; i < r->rows.n; i++)
        for (int j = 0; j < r->rows.row[i].n; j++)
            if (add_cell(r, i, &r->rows.row[i].entry[j], order) < 0)
                return -1;
    return 0;
}

/* ---- checks of the whole ---- */

/* The letter of the cell in which the file has a box. */
static const char *letter_in_file(const struct order_reading *r, int number)
{
    const struct mtlm_box box = mtlm_box_at(r->boxes, number);
    const struct mtlm_order_row *row =
        &r->rows.row[mtlm_box_rank(r->boxes, number)];

    for (int i = 0; i < row->n; i++) {
        const struct mtlm_order_entry *entry = &row->entry[i];

        if (entry->column == r->column[number]
            && entry->cell.kind < MTLM_CELL_MESSAGE
            && entry->cell.stage == box.stage
            && entry->cell.microbatch == box.microbatch)
            return cell_letters[entry->cell.kind];
    }
    return letters[box.phase];
}

/* Whether the file has an I; a file without has B for the gradient of the
 * inputs. */
static bool has_input(const struct order_reading *r)
{
    for (int i = 0; i < r->rows.n; i++)
        for (int j = 0; j < r->rows.row[i].n; j++)
            if (r->rows.row[i].entry[j].cell.kind == MTLM_CELL_INPUT)
                return true;
    return false;
}

static int check_whole(struct order_reading *r)
{
    for (int i = 0; i < mtlm_boxes_count(r->boxes); i++) {
        const struct mtlm_box box = mtlm_box_at(r->boxes, i);

        if (!r->column[i])
            return mtlm_error_set(
                r->err, MTLM_EXIT_USAGE, "%s: rank %d lacks %d%s%d", r->path,
                mtlm_box_rank(r->boxes, i), box.stage,
                box.phase == MTLM_PHASE_BACKWARD && !has_input(r)
                    ? "B"
                    : letters[box.phase],
                box.microbatch);
    }
    return 0;
}

/* Names the first action of a rank that never runs, and what it waits for. */
static int refuse_stuck(struct order_reading *r, const struct mtlm_walk *walk,
                        const struct mtlm_box_order *order)
{
    for (int rank = 0; rank < order->ranks; rank++) {
        const int place = mtlm_walk_stuck(walk, order, rank);
        struct mtlm_box box, before;
        int number, cause;

        if (place < 0)
            continue;
        number = order->box[rank][place];
        box = mtlm_box_at(r->boxes, number);
        cause = walk->before[number];
        before = mtlm_box_at(r->boxes, cause);
        return mtlm_error_set(
            r->err, MTLM_EXIT_USAGE,
            "%s: rank %d, column %d: %d%s%d never runs: it waits for %d%s%d of "
            "rank %d, column %d, which never runs either",
            r->path, rank, r->column[number], box.stage,
            letter_in_file(r, number), box.microbatch, before.stage,
            letter_in_file(r, cause), before.microbatch, walk->rank[cause],
            r->column[cause]);
    }
    return 0;
}

/* Names the first action with which the slots of a rank exceed its memory. */
static int check_memory(struct order_reading *r,
                        const struct mtlm_box_order *order,
                        const struct mtlm_order_limit *limit)
{
    for (int rank = 0; rank < order->ranks; rank++) {
        double memory;
        const int place =
            mtlm_order_memory_exceeds(order, r->boxes, rank, limit, &memory);

        if (place >= 0) {
            const int number = order->box[rank][place];
            const struct mtlm_box box = mtlm_box_at(r->boxes, number);

            return mtlm_error_set(
                r->err, MTLM_EXIT_USAGE,
                "%s: rank %d, column %d: with %d%s%d the activations take "
                "%.6g MiB, and the rank has %.6g MiB for them",
                r->path, rank, r->column[number], box.stage,
                letter_in_file(r, number), box.microbatch, memory,
                limit->most[rank]);
        }
    }
    return 0;
}

static int check(struct order_reading *r, const struct mtlm_order_limit *limit,
                 const struct mtlm_box_order *order)
{
    struct mtlm_walk walk;
    int rc;

    if (check_whole(r) < 0)
        return -1;
    walk = mtlm_walk_create(r->boxes);
    rc = mtlm_walk(&walk, order) < INFINITY ? 0 : refuse_stuck(r, &walk, order);
    mtlm_walk_free(&walk);
    if (rc < 0 || !limit)
        return rc;
    return check_memory(r, order, limit);
}

/* Notes the first box that stands behind a later microbatch of its phase and
 * stage. */
static void note_late(struct order_reading *r,
                      const struct mtlm_box_order *order)
{
    const int stages = mtlm_layout_stages(r->boxes->layout);
    int *last =
        mtlm_calloc((size_t) (MTLM_PHASE_WEIGHT + 1) * stages, sizeof(*last));

    for (int rank = 0; rank < order->ranks; rank++)
        for (int j = 0; j < order->n[rank]; j++) {
            const int number = order->box[rank][j];
            const struct mtlm_box box = mtlm_box_at(r->boxes, number);
            int *before = &last[box.phase * stages + box.stage];

            if (box.microbatch < *before && !r->notes->late[0])
                snprintf(r->notes->late, sizeof(r->notes->late),
                         "rank %d, column %d: %d%s%d stands behind microbatch "
                         "%d",
                         rank, r->column[number], box.stage,
                         letter_in_file(r, number), box.microbatch, *before);
            *before = box.microbatch;
        }
    free(last);
}

int mtlm_order_file_read(const char *path, const struct mtlm_boxes *boxes,
                         const struct mtlm_order_limit *limit,
                         struct mtlm_box_order *order,
                         struct mtlm_order_file_notes *notes,
                         struct mtlm_error *err)
{
    struct order_reading r = {
        .path = path, .boxes = boxes, .notes = notes, .err = err};
    int rc = mtlm_order_rows_read(&r.rows, path, err);

    *notes = (struct mtlm_order_file_notes){0};
    r.column = mtlm_calloc(mtlm_boxes_count(boxes), sizeof(int));
    notes->older = r.older = rc == 0 && is_older(&r);
    if (rc == 0)
        rc = add_boxes(&r, order);
    if (rc == 0)
        rc = check(&r, limit, order);
    if (rc == 0)
        note_late(&r, order);
    mtlm_order_rows_free(&r.rows);
    free(r.column);
    return rc;
}

/* ---- writing ---- */

/* The letter of the j-th box of a rank; NULL: no cell of its own. */
static const char *letter_of(const struct mtlm_boxes *boxes, const int *box,
                             int j, int n)
{
    const struct mtlm_box now = mtlm_box_at(boxes, box[j]);

    if (now.phase == MTLM_PHASE_BACKWARD && j + boxes->pieces < n
        && box[j + boxes->pieces] == box[j] + boxes->pieces)
        return "B";
    if (now.phase != MTLM_PHASE_WEIGHT)
        return letters[now.phase];
    if (now.piece < boxes->pieces - 1
        || (j >= boxes->pieces
            && box[j - boxes->pieces] == box[j] - boxes->pieces))
        return NULL;
    return letters[now.phase];
}

/* Sets text to the cell of the j-th box of a rank.  Returns its length, or 0:
 * the box has no cell of its own. */
static int cell_of(const struct mtlm_boxes *boxes, const int *box, int j, int n,
                   char text[MTLM_ORDER_FILE_ACTION])
{
    const char *letter = letter_of(boxes, box, j, n);
    const struct mtlm_box at = mtlm_box_at(boxes, box[j]);

    return letter ? snprintf(text, MTLM_ORDER_FILE_ACTION, "%d%s%d", at.stage,
                             letter, at.microbatch)
                  : 0;
}

static int write_rank(struct mtlm_output_file *file,
                      const struct mtlm_boxes *boxes, const int *box, int n,
                      struct mtlm_error *err)
{
    int rc = 0;

    for (int j = 0; j < n && rc == 0; j++) {
        char text[MTLM_ORDER_FILE_ACTION];
        const int bytes = cell_of(boxes, box, j, n, text);

        if (bytes > 0 && j > 0)
            rc = mtlm_output_file_write(file, ",", 1, err);
        if (bytes > 0 && rc == 0)
            rc = mtlm_output_file_write(file, text, bytes, err);
    }
    return rc < 0 ? -1 : mtlm_output_file_write(file, "\n", 1, err);
}

int mtlm_order_file_column(const struct mtlm_boxes *boxes,
                           const struct mtlm_box_order *order, int rank,
                           int place, char action[MTLM_ORDER_FILE_ACTION])
{
    int column = 0;

    for (int j = 0; j <= place; j++)
        column +=
            cell_of(boxes, order->box[rank], j, order->n[rank], action) > 0;
    return column;
}

int mtlm_order_file_write(const char *path, const struct mtlm_boxes *boxes,
                          const struct mtlm_box_order *order,
                          struct mtlm_error *err)
{
    struct mtlm_output_file *file = mtlm_output_file_create(path, err);
    int rc = file ? 0 : -1;

    for (int r = 0; r < order->ranks && rc == 0; r++)
        rc = write_rank(file, boxes, order->box[r], order->n[r], err);
    if (rc == 0)
        rc = mtlm_output_file_finish(file, err);
    if (rc == 0)
        rc = mtlm_output_file_publish(file, err);
    mtlm_output_file_destroy(file);
    return rc;
}
