/* Reads and checks files of orders. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/order/lane_merge.h"
#include "graph/order/order_cell.h"
#include "graph/order/order_file.h"
#include "graph/order/order_messages.h"
#include "graph/order/order_rows.h"
#include "graph/order/walk.h"
#include "runtime/base/memory.h"

struct order_reading {
    const char *path;
    const struct mtlm_boxes *boxes;
    struct mtlm_order_rows rows;
    bool older;
    /* [boxes] where a box stands: its row; its column, 0: nowhere. */
    int *row, *column;
    struct mtlm_order_file_notes *notes;
    struct mtlm_error *err;
};

static const char *const letters[] = {[MTLM_PHASE_FORWARD] = "F",
                                      [MTLM_PHASE_BACKWARD] = "I",
                                      [MTLM_PHASE_WEIGHT] = "W"};

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

/* Writes where a box stands. */
static void find_place(const struct order_reading *r, int box,
                       char place[MTLM_ORDER_PLACE])
{
    mtlm_order_rows_place(&r->rows, r->row[box], r->column[box], place);
}

static int refuse(struct order_reading *r, int row,
                  const struct mtlm_order_entry *entry, const char *why)
{
    return mtlm_order_cell_refuse(&r->rows, row, entry, why, r->err);
}

/* Refuses a cell that has its box twice. */
static int refuse_double(struct order_reading *r, int row,
                         const struct mtlm_order_entry *entry, int box)
{
    char why[MTLM_ORDER_PLACE + 32], place[MTLM_ORDER_PLACE];

    find_place(r, box, place);
    if (r->row[box] == row)
        snprintf(why, sizeof(why), "stands in column %d already",
                 r->column[box]);
    else
        snprintf(why, sizeof(why), "stands in %s already", place);
    return refuse(r, row, entry, why);
}

/* Appends the box, all pieces of a W. */
static int add_box(struct order_reading *r, int row,
                   const struct mtlm_order_entry *entry, enum mtlm_phase phase,
                   struct mtlm_box_order *order)
{
    const struct mtlm_cell *cell = &entry->cell;
    struct mtlm_box box = {phase, cell->stage, cell->microbatch, 0};
    const int pieces = phase == MTLM_PHASE_WEIGHT ? r->boxes->pieces : 1;

    for (; box.piece < pieces; box.piece++) {
        const int number = mtlm_box_number(r->boxes, box);

        if (r->column[number])
            return refuse_double(r, row, entry, number);
        r->row[number] = row;
        r->column[number] = entry->column;
        if (order->lane)
            order->lane[number] = r->rows.row[row].lane;
        mtlm_order_append(order, r->boxes, number);
    }
    return 0;
}

/* Appends what a cell stands for. */
static int add_cell(struct order_reading *r, int row,
                    const struct mtlm_order_entry *entry,
                    struct mtlm_box_order *order)
{
    const enum mtlm_cell_kind kind = entry->cell.kind;
    const bool both =
        kind == MTLM_CELL_BOTH || (kind == MTLM_CELL_BACKWARD && !r->older);
    int rc = mtlm_order_cell_check(&r->rows, row, entry, r->boxes, r->err);

    if (rc < 0)
        return -1;
    if (mtlm_cell_is_message(kind))
        r->notes->messages++;
    else if (kind == MTLM_CELL_SHARDING)
        r->notes->sharding++;
    else if (kind == MTLM_CELL_FORWARD)
        rc = add_box(r, row, entry, MTLM_PHASE_FORWARD, order);
    else if (kind != MTLM_CELL_WEIGHT)
        rc = add_box(r, row, entry, MTLM_PHASE_BACKWARD, order);
    if (rc == 0 && (both || kind == MTLM_CELL_WEIGHT))
        rc = add_box(r, row, entry, MTLM_PHASE_WEIGHT, order);
    return rc;
}

static int refuse_ranks(struct order_reading *r)
{
    const int have = r->rows.ranks, ranks = r->boxes->layout->pp;

    return mtlm_error_set(
        r->err, MTLM_EXIT_USAGE,
        "%s has rows of %d pipeline rank%s; this job has %d pipeline rank%s",
        r->path, have, have == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s");
}

static int add_boxes(struct order_reading *r, struct mtlm_box_order *order)
{
    if (r->rows.ranks != r->boxes->layout->pp)
        return refuse_ranks(r);
    /* As many rows as ranks: one lane on each. */
    if (r->rows.n > r->rows.ranks)
        mtlm_order_add_lanes(order, r->boxes);
    for (int i = 0; i < r->rows.n; i++)
        for (int j = 0; j < r->rows.row[i].n; j++)
            if (add_cell(r, i, &r->rows.row[i].entry[j], order) < 0)
                return -1;
    return mtlm_order_messages_check(&r->rows, r->boxes, r->err);
}

/* ---- checks of the whole ---- */

/* The letter of the cell in which the file has a box. */
static const char *letter_in_file(const struct order_reading *r, int number)
{
    const struct mtlm_box box = mtlm_box_at(r->boxes, number);
    const struct mtlm_order_row *row = &r->rows.row[r->row[number]];

    for (int i = 0; i < row->n; i++) {
        const struct mtlm_order_entry *entry = &row->entry[i];

        if (entry->column == r->column[number]
            && mtlm_cell_computes(entry->cell.kind)
            && entry->cell.stage == box.stage
            && entry->cell.microbatch == box.microbatch)
            return entry->cell.type;
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
        const int at = mtlm_walk_stuck(walk, order, rank);
        char place[MTLM_ORDER_PLACE], place_before[MTLM_ORDER_PLACE];
        struct mtlm_box box, before;
        int number, cause;

        if (at < 0)
            continue;
        number = order->box[rank][at];
        box = mtlm_box_at(r->boxes, number);
        cause = walk->before[number];
        before = mtlm_box_at(r->boxes, cause);
        find_place(r, number, place);
        find_place(r, cause, place_before);
        return mtlm_error_set(
            r->err, MTLM_EXIT_USAGE,
            "%s: %s: %d%s%d never runs: it waits for %d%s%d of %s, which never "
            "runs either",
            r->path, place, box.stage, letter_in_file(r, number),
            box.microbatch, before.stage, letter_in_file(r, cause),
            before.microbatch, place_before);
    }
    return 0;
}

/* Names the first action with which the slots of a rank exceed its memory. */
static int check_memory(struct order_reading *r,
                        const struct mtlm_box_order *order,
                        const struct mtlm_order_limit *limit)
{
    for (int rank = 0; rank < order->ranks; rank++) {
        char place[MTLM_ORDER_PLACE];
        struct mtlm_box box;
        double memory;
        int number;
        const int at =
            mtlm_order_memory_exceeds(order, r->boxes, rank, limit, &memory);

        if (at < 0)
            continue;
        number = order->box[rank][at];
        box = mtlm_box_at(r->boxes, number);
        find_place(r, number, place);
        return mtlm_error_set(
            r->err, MTLM_EXIT_USAGE,
            "%s: %s: with %d%s%d the activations take %.6g MiB, and the rank "
            "has %.6g MiB for them",
            r->path, place, box.stage, letter_in_file(r, number),
            box.microbatch, memory, limit->most[rank]);
    }
    return 0;
}

/* Refuses an order that lacks a box, or whose boxes wait for each other. */
static int check(struct order_reading *r, const struct mtlm_box_order *order)
{
    struct mtlm_walk walk;
    int rc;

    if (check_whole(r) < 0)
        return -1;
    walk = mtlm_walk_create(r->boxes);
    walk.apart = true;
    rc = mtlm_walk(&walk, order) < INFINITY ? 0 : refuse_stuck(r, &walk, order);
    mtlm_walk_free(&walk);
    return rc;
}

static void note_one_late(struct order_reading *r, int number, int before)
{
    const struct mtlm_box box = mtlm_box_at(r->boxes, number);
    char place[MTLM_ORDER_PLACE];

    find_place(r, number, place);
    snprintf(r->notes->late, sizeof(r->notes->late),
             "%s: %d%s%d stands behind microbatch %d", place, box.stage,
             letter_in_file(r, number), box.microbatch, before);
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
                note_one_late(r, number, *before);
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
    r.row = mtlm_calloc(mtlm_boxes_count(boxes), sizeof(int));
    r.column = mtlm_calloc(mtlm_boxes_count(boxes), sizeof(int));
    notes->older = r.older = rc == 0 && is_older(&r);
    if (rc == 0)
        rc = add_boxes(&r, order);
    if (rc == 0)
        rc = check(&r, order);
    if (rc == 0 && order->lane)
        mtlm_lane_merge(order, boxes, r.column);
    if (rc == 0 && limit)
        rc = check_memory(&r, order, limit);
    if (rc == 0)
        note_late(&r, order);
    mtlm_order_rows_free(&r.rows);
    free(r.row);
    free(r.column);
    return rc;
}
