#ifndef MTLM_GRAPH_EVENT_HEAP_H
#define MTLM_GRAPH_EVENT_HEAP_H

/* Events of a simulation, the earliest one first.  Events of one time come in
 * the order in which they were added. */

#include <stdint.h>

enum mtlm_event_what {
    MTLM_EVENT_END,   /* the task ends */
    MTLM_EVENT_READY, /* the task becomes ready */
    MTLM_EVENT_LOOK,  /* no task: workers look for a task again */
};

struct mtlm_event {
    int64_t time;
    enum mtlm_event_what what;
    int task;
    int64_t number; /* in order of creation */
};

/* A heap.  The caller zeroes the struct. */
struct mtlm_event_heap {
    struct mtlm_event *event; /* [n] */
    int n, capacity;
    int64_t added;
};

/* Adds an event. */
void mtlm_event_heap_add(struct mtlm_event_heap *heap, int64_t time,
                         enum mtlm_event_what what, int task);

/* Returns the time of the earliest event.  The heap must have an event. */
int64_t mtlm_event_heap_time(const struct mtlm_event_heap *heap);

/* Removes and returns the earliest event.  The heap must have an event. */
struct mtlm_event mtlm_event_heap_take(struct mtlm_event_heap *heap);

/* Frees the events. */
void mtlm_event_heap_free(struct mtlm_event_heap *heap);

#endif /* MTLM_GRAPH_EVENT_HEAP_H */
