#ifndef MTLM_GRAPH_TASK_HEAP_H
#define MTLM_GRAPH_TASK_HEAP_H

/* Tasks in the order of a key: events of a simulation, ready tasks of a lane,
 * tasks to be submitted, slots that are given back.  The least key is first; of
 * equal keys, the least number. */

#include <stddef.h>
#include <stdint.h>

struct mtlm_heap_task {
    int64_t key, number;
    int task; /* the caller's */
    int what; /* the caller's */
};

/* A binary heap.  The caller zeroes the struct. */
struct mtlm_task_heap {
    struct mtlm_heap_task *at; /* [n] */
    int n;
    size_t capacity;
};

/* Adds a task. */
void mtlm_task_heap_add(struct mtlm_task_heap *heap,
                        struct mtlm_heap_task task);

/* Returns the first key.  The heap must have a task. */
int64_t mtlm_task_heap_key(const struct mtlm_task_heap *heap);

/* Removes and returns the first task.  The heap must have a task. */
struct mtlm_heap_task mtlm_task_heap_take(struct mtlm_task_heap *heap);

/* Frees the tasks. */
void mtlm_task_heap_free(struct mtlm_task_heap *heap);

#endif /* MTLM_GRAPH_TASK_HEAP_H */
