/* Refuses messages that contradict the passes. */

#include "config.h"

#include <stdlib.h>

#include "graph/order/order_cell.h"
#include "graph/order/order_messages.h"
#include "runtime/base/memory.h"

/* Messages by kind, and the passes by phase: F, and I or B. */
enum { MESSAGES = MTLM_CELL_WAIT_SEND - MTLM_CELL_SEND_F, PASSES = 2 };

/* What a row has had so far, [stages * microbatches] each. */
struct row_reading {
    const struct mtlm_order_rows *rows;
    const struct mtlm_boxes *boxes;
    int row;
    bool *message[MESSAGES], *pass[PASSES];
    struct mtlm_error *err;
};

static bool sends(enum mtlm_cell_kind kind)
{
    return kind == MTLM_CELL_SEND_F || kind == MTLM_CELL_SEND_B;
}

static bool is_of_forward(enum mtlm_cell_kind kind)
{
    return kind == MTLM_CELL_SEND_F || kind == MTLM_CELL_RECV_F;
}

/* Returns the stage of the message's other end; it may not exist. */
static int other_stage(const struct mtlm_cell *cell)
{
    return sends(cell->kind) == is_of_forward(cell->kind) ? cell->stage + 1
                                                          : cell->stage - 1;
}

/* Returns why a message is wrong; NULL: it is not. */
static const char *wrong_message(const struct row_reading *r,
                                 const struct mtlm_cell *cell, int at)
{
    const struct mtlm_layout *layout = r->boxes->layout;
    const int other = other_stage(cell);
    const bool after = r->pass[is_of_forward(cell->kind) ? 0 : 1][at];

    if (other < 0 || other >= mtlm_layout_stages(layout))
        return sends(cell->kind) ? "has no stage to send to"
                                 : "has no stage to receive from";
    if (r->message[cell->kind - MTLM_CELL_SEND_F][at])
        return "stands in this row already";
    if (r->rows->lanes || after == sends(cell->kind))
        return NULL;
    return sends(cell->kind) ? "stands before the pass that it sends from"
                             : "stands behind the pass that it receives for";
}

static int read_entry(struct row_reading *r,
                      const struct mtlm_order_entry *entry)
{
    const struct mtlm_cell *cell = &entry->cell;
    const int at = cell->stage * r->boxes->microbatches + cell->microbatch;
    const char *why;

    if (cell->kind == MTLM_CELL_FORWARD)
        r->pass[0][at] = true;
    else if (mtlm_cell_computes(cell->kind) && cell->kind != MTLM_CELL_WEIGHT)
        r->pass[1][at] = true;
    if (!mtlm_cell_is_message(cell->kind) || cell->kind == MTLM_CELL_WAIT_SEND)
        return 0;
    why = wrong_message(r, cell, at);
    r->message[cell->kind - MTLM_CELL_SEND_F][at] = true;
    return why ? mtlm_order_cell_refuse(r->rows, r->row, entry, why, r->err)
               : 0;
}

static int check_row(struct row_reading *r, bool *seen, size_t each)
{
    const struct mtlm_order_row *row = &r->rows->row[r->row];

    for (int i = 0; i < MESSAGES; i++)
        r->message[i] = seen + i * each;
    for (int i = 0; i < PASSES; i++)
        r->pass[i] = seen + (MESSAGES + i) * each;
    for (int i = 0; i < row->n; i++)
        if (read_entry(r, &row->entry[i]) < 0)
            return -1;
    return 0;
}

int mtlm_order_messages_check(const struct mtlm_order_rows *rows,
                              const struct mtlm_boxes *boxes,
                              struct mtlm_error *err)
{
    const size_t each =
        (size_t) mtlm_layout_stages(boxes->layout) * boxes->microbatches;
    /* A stage is on one rank: rows share no element but those of lanes. */
    bool *seen = mtlm_calloc((MESSAGES + PASSES) * each, sizeof(*seen));
    int rc = 0;

    for (int i = 0; rc == 0 && i < rows->n; i++) {
        struct row_reading r = {
            .rows = rows, .boxes = boxes, .row = i, .err = err};

        rc = check_row(&r, seen, each);
    }
    free(seen);
    return rc;
}
