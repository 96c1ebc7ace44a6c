#ifndef MTLM_GRAPH_ITEMS_H
#define MTLM_GRAPH_ITEMS_H

/* Lists of items, which grow. */

#include "graph/build/program.h"

/* Appends an item. */
void mtlm_items_append(struct mtlm_items *items, struct mtlm_item item);

/* Frees the array of items. */
void mtlm_items_free(struct mtlm_items *items);

#endif /* MTLM_GRAPH_ITEMS_H */
