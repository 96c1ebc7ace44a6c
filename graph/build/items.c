/* Lists of items, which grow. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/items.h"
#include "runtime/base/memory.h"

void mtlm_items_append(struct mtlm_items *items, struct mtlm_item item)
{
    if (items->n == items->capacity) {
        items->capacity = 2 * items->capacity + 256;
        items->item =
            mtlm_realloc(items->item, items->capacity, sizeof(*items->item));
    }
    items->item[items->n++] = item;
}

void mtlm_items_free(struct mtlm_items *items)
{
    free(items->item);
    *items = (struct mtlm_items){0};
}
