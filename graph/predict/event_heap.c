/* A binary heap of events. */

#include "config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "graph/predict/event_heap.h"
#include "runtime/base/memory.h"

static bool is_sooner(const struct mtlm_event *a, const struct mtlm_event *b)
{
    return a->time < b->time || (a->time == b->time && a->number < b->number);
}

void mtlm_event_heap_add(struct mtlm_event_heap *heap, int64_t time,
                         enum mtlm_event_what what, int task)
{
    const struct mtlm_event event = {time, what, task, heap->added++};
    int i = heap->n++;

    if (heap->n > heap->capacity) {
        heap->capacity = 2 * heap->n + 64;
        heap->event =
            mtlm_realloc(heap->event, heap->capacity, sizeof(*heap->event));
    }
    for (; i > 0 && is_sooner(&event, &heap->event[(i - 1) / 2]);
         i = (i - 1) / 2)
        heap->event[i] = heap->event[(i - 1) / 2];
    heap->event[i] = event;
}

int64_t mtlm_event_heap_time(const struct mtlm_event_heap *heap)
{
    return heap->event[0].time;
}

struct mtlm_event mtlm_event_heap_take(struct mtlm_event_heap *heap)
{
    const struct mtlm_event first = heap->event[0];
    const struct mtlm_event event = heap->event[--heap->n];
    int i = 0, child;

    while ((child = 2 * i + 1) < heap->n) {
        child += child + 1 < heap->n
                 && is_sooner(&heap->event[child + 1], &heap->event[child]);
        if (is_sooner(&event, &heap->event[child]))
            break;
        heap->event[i] = heap->event[child];
        i = child;
    }
    heap->event[i] = event;
    return first;
}

void mtlm_event_heap_free(struct mtlm_event_heap *heap)
{
    free(heap->event);
}
