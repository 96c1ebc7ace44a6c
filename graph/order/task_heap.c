/* A binary heap of tasks with keys. */

#include "config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "graph/order/task_heap.h"
#include "runtime/base/memory.h"

static bool is_before(const struct mtlm_heap_task *a,
                      const struct mtlm_heap_task *b)
{
    return a->key < b->key || (a->key == b->key && a->number < b->number);
}

void mtlm_task_heap_add(struct mtlm_task_heap *heap, struct mtlm_heap_task task)
{
    int i = heap->n++;

    heap->at =
        mtlm_make_room(heap->at, &heap->capacity, heap->n, sizeof(*heap->at));
    for (; i > 0 && is_before(&task, &heap->at[(i - 1) / 2]); i = (i - 1) / 2)
        heap->at[i] = heap->at[(i - 1) / 2];
    heap->at[i] = task;
}

int64_t mtlm_task_heap_key(const struct mtlm_task_heap *heap)
{
    return heap->at[0].key;
}

struct mtlm_heap_task mtlm_task_heap_take(struct mtlm_task_heap *heap)
{
    const struct mtlm_heap_task first = heap->at[0];
    const struct mtlm_heap_task task = heap->at[--heap->n];
    int i = 0, child;

    while ((child = 2 * i + 1) < heap->n) {
        child += child + 1 < heap->n
                 && is_before(&heap->at[child + 1], &heap->at[child]);
        if (is_before(&task, &heap->at[child]))
            break;
        heap->at[i] = heap->at[child];
        i = child;
    }
    heap->at[i] = task;
    return first;
}

void mtlm_task_heap_free(struct mtlm_task_heap *heap)
{
    free(heap->at);
}
