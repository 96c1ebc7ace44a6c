/* Refuses cells that no job of this shape has. */

#include "config.h"

#include <stdio.h>

#include "graph/order/order_cell.h"

int mtlm_order_cell_refuse(const struct mtlm_order_rows *rows, int row,
                           const struct mtlm_order_entry *entry,
                           const char *why, struct mtlm_error *err)
{
    const struct mtlm_cell *cell = &entry->cell;
    char place[MTLM_ORDER_PLACE], microbatch[16] = "";

    mtlm_order_rows_place(rows, row, entry->column, place);
    if (cell->microbatch >= 0)
        snprintf(microbatch, sizeof(microbatch), "%d", cell->microbatch);
    return mtlm_error_set(err, MTLM_EXIT_USAGE, "%s: %s: %d%s%s %s", rows->path,
                          place, cell->stage, cell->type, microbatch, why);
}

int mtlm_order_cell_check(const struct mtlm_order_rows *rows, int row,
                          const struct mtlm_order_entry *entry,
                          const struct mtlm_boxes *boxes,
                          struct mtlm_error *err)
{
    const struct mtlm_cell *cell = &entry->cell;
    const struct mtlm_layout *layout = boxes->layout;
    char why[80];

    if (cell->stage >= mtlm_layout_stages(layout))
        snprintf(why, sizeof(why),
                 "is of stage %d, this job has stages 0 to %d", cell->stage,
                 mtlm_layout_stages(layout) - 1);
    else if (cell->microbatch >= boxes->microbatches)
        snprintf(why, sizeof(why), "is of microbatch %d, this job has 0 to %d",
                 cell->microbatch, boxes->microbatches - 1);
    else if (mtlm_layout_pp_rank(layout, cell->stage) != rows->row[row].rank)
        snprintf(why, sizeof(why), "is of stage %d, which is on rank %d",
                 cell->stage, mtlm_layout_pp_rank(layout, cell->stage));
    else
        return 0;
    return mtlm_order_cell_refuse(rows, row, entry, why, err);
}
