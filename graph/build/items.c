/* Lists of items, which grow. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/items.h"
#include "runtime/base/memory.h"

void mtlm_items_append(struct mtlm_items *items, struct mtlm_item item)
{
    items->item = mtlm_make_room(items->item, &items->capacity, items->n + 1,
                                 sizeof(*items->item));
    items->item[items->n++] = item;
}

void mtlm_items_free(struct mtlm_items *items)
{
    free(items->item);
    *items = (struct mtlm_items){0};
}
