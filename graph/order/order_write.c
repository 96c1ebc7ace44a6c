/* Writes files of orders. */

#include "config.h"

#include <stdio.h>
#include <string.h>

#include "graph/order/order_write.h"
#include "runtime/file/output_file.h"

static const char *const letters[] = {[MTLM_PHASE_FORWARD] = "F",
                                      [MTLM_PHASE_BACKWARD] = "I",
                                      [MTLM_PHASE_WEIGHT] = "W"};

/* The order of a rank. */
struct written_rank {
    const struct mtlm_boxes *boxes;
    const struct mtlm_box_order *order;
    const int *box; /* [n] */
    int n;
};

static struct written_rank rank_of(const struct mtlm_boxes *boxes,
                                   const struct mtlm_box_order *order, int rank)
{
    return (struct written_rank){boxes, order, order->box[rank],
                                 order->n[rank]};
}

/* Whether the W of a B follows at once, in the same lane. */
static bool has_weight_behind(const struct written_rank *w, int j)
{
    const int pieces = w->boxes->pieces;

    return j >= 0 && j + pieces < w->n
           && mtlm_box_at(w->boxes, w->box[j]).phase == MTLM_PHASE_BACKWARD
           && w->box[j + pieces] == w->box[j] + pieces
           && mtlm_order_lane(w->order, w->box[j])
                  == mtlm_order_lane(w->order, w->box[j + pieces]);
}

/* The letter of the j-th box; NULL: no cell of its own. */
static const char *letter_of(const struct written_rank *w, int j)
{
    const struct mtlm_box now = mtlm_box_at(w->boxes, w->box[j]);

    if (has_weight_behind(w, j))
        return "B";
    if (now.phase == MTLM_PHASE_WEIGHT
        && (now.piece < w->boxes->pieces - 1
            || has_weight_behind(w, j - w->boxes->pieces)))
        return NULL;
    return letters[now.phase];
}

static int write_text(struct mtlm_output_file *file, const char *text,
                      struct mtlm_error *err)
{
    return mtlm_output_file_write(file, text, strlen(text), err);
}

/* Sets text to the cell of the j-th box.  Returns whether the box has a cell of
 * its own. */
static bool find_cell(const struct written_rank *w, int j,
                      char text[MTLM_ORDER_WRITE_ACTION])
{
    const char *letter = letter_of(w, j);
    const struct mtlm_box at = mtlm_box_at(w->boxes, w->box[j]);

    if (letter)
        snprintf(text, MTLM_ORDER_WRITE_ACTION, "%d%s%d", at.stage, letter,
                 at.microbatch);
    return letter;
}

/* Writes a row: all boxes of a rank. */
static int write_rank(struct mtlm_output_file *file,
                      const struct written_rank *w, struct mtlm_error *err)
{
    int rc = 0;

    for (int j = 0; j < w->n && rc == 0; j++) {
        char text[MTLM_ORDER_WRITE_ACTION];

        if (!find_cell(w, j, text))
            continue;
        if (j > 0)
            rc = write_text(file, ",", err);
        if (rc == 0)
            rc = write_text(file, text, err);
    }
    return rc < 0 ? -1 : write_text(file, "\n", err);
}

/* Writes a row: the boxes of a lane, and empty cells under those of the other
 * lanes. */
static int write_lane(struct mtlm_output_file *file,
                      const struct written_rank *w, int rank, int lane,
                      struct mtlm_error *err)
{
    char text[MTLM_ORDER_WRITE_ACTION];
    int rc;

    snprintf(text, sizeof(text), "%d.%d", rank, lane);
    rc = write_text(file, text, err);
    for (int j = 0; j < w->n && rc == 0; j++) {
        if (!find_cell(w, j, text))
            continue;
        rc = write_text(file, ",", err);
        if (rc == 0 && mtlm_order_lane(w->order, w->box[j]) == lane)
            rc = write_text(file, text, err);
    }
    return rc < 0 ? -1 : write_text(file, "\n", err);
}

static int write_rows(struct mtlm_output_file *file,
                      const struct mtlm_boxes *boxes,
                      const struct mtlm_box_order *order,
                      struct mtlm_error *err)
{
    const bool lanes = mtlm_order_most_lanes(order) > 1;
    int rc = 0;

    for (int r = 0; r < order->ranks && rc == 0; r++) {
        const struct written_rank w = rank_of(boxes, order, r);

        if (!lanes)
            rc = write_rank(file, &w, err);
        for (int lane = 0;
             lanes && lane < mtlm_order_lanes(order, r) && rc == 0; lane++)
            rc = write_lane(file, &w, r, lane, err);
    }
    return rc;
}

int mtlm_order_write_column(const struct mtlm_boxes *boxes,
                            const struct mtlm_box_order *order, int rank,
                            int place, char action[MTLM_ORDER_WRITE_ACTION])
{
    const struct written_rank w = rank_of(boxes, order, rank);
    int column = 0;

    for (int j = 0; j <= place; j++)
        column += find_cell(&w, j, action);
    return column;
}

int mtlm_order_write(const char *path, const struct mtlm_boxes *boxes,
                     const struct mtlm_box_order *order, struct mtlm_error *err)
{
    struct mtlm_output_file *file = mtlm_output_file_create_in_place(path, err);
    const int rc = file ? write_rows(file, boxes, order, err) : -1;

    return mtlm_output_file_end(file, rc, err);
}
