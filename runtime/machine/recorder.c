/* The recorder: growing arrays of records, dependencies, operands and data. */

#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/machine/recorder.h"

/* A growing array of entries of one size. */
struct list {
    void *entry;
    size_t n, capacity;
};

struct mtlm_recorder {
    pthread_mutex_t mutex; /* guards records and waits */
    struct list records;
    size_t old; /* leading records, of iterations before the last one copied */
    pthread_cond_t got;
    int64_t awaited, missing; /* iteration of the wait; nodes still missing */
    struct list edges, uses, data; /* of the submitting thread */
};

struct mtlm_recorder *mtlm_recorder_create(void)
{
    struct mtlm_recorder *recorder = mtlm_calloc(1, sizeof(*recorder));

    pthread_mutex_init(&recorder->mutex, NULL);
    pthread_cond_init(&recorder->got, NULL);
    return recorder;
}

void mtlm_recorder_destroy(struct mtlm_recorder *recorder)
{
    if (!recorder)
        return;
    pthread_mutex_destroy(&recorder->mutex);
    pthread_cond_destroy(&recorder->got);
    free(recorder->records.entry);
    free(recorder->edges.entry);
    free(recorder->uses.entry);
    free(recorder->data.entry);
    free(recorder);
}

static void append(struct list *list, const void *entry, size_t size)
{
    list->entry =
        mtlm_make_room(list->entry, &list->capacity, list->n + 1, size);
    memcpy((char *) list->entry + list->n++ * size, entry, size);
}

static bool is_of(const struct mtlm_record *record, int64_t iteration)
{
    return record->iteration == iteration && record->phase != MTLM_PHASE_EVAL
           && record->phase != MTLM_PHASE_SAVE;
}

void mtlm_recorder_add(struct mtlm_recorder *recorder,
                       const struct mtlm_record *record)
{
    pthread_mutex_lock(&recorder->mutex);
    append(&recorder->records, record, sizeof(*record));
    if (recorder->missing > 0 && is_of(record, recorder->awaited)
        && --recorder->missing == 0)
        pthread_cond_signal(&recorder->got);
    pthread_mutex_unlock(&recorder->mutex);
}

void mtlm_recorder_await(struct mtlm_recorder *recorder, int64_t iteration,
                         int64_t nodes)
{
    const struct mtlm_record *record;

    pthread_mutex_lock(&recorder->mutex);
    record = recorder->records.entry;
    for (size_t i = recorder->old; i < recorder->records.n; i++)
        nodes -= is_of(&record[i], iteration);
    recorder->awaited = iteration;
    recorder->missing = nodes;
    while (recorder->missing > 0)
        pthread_cond_wait(&recorder->got, &recorder->mutex);
    pthread_mutex_unlock(&recorder->mutex);
}

struct mtlm_record *mtlm_recorder_copy(struct mtlm_recorder *recorder,
                                       int64_t iteration, size_t *n)
{
    const struct mtlm_record *record;
    struct mtlm_record *copy;

    *n = 0;
    pthread_mutex_lock(&recorder->mutex);
    record = recorder->records.entry;
    while (recorder->old < recorder->records.n
           && record[recorder->old].iteration < iteration)
        recorder->old++;
    copy = mtlm_calloc(recorder->records.n - recorder->old, sizeof(*copy));
    for (size_t i = recorder->old; i < recorder->records.n; i++)
        if (record[i].iteration >= iteration)
            copy[(*n)++] = record[i];
    pthread_mutex_unlock(&recorder->mutex);
    return copy;
}

void mtlm_recorder_clear(struct mtlm_recorder *recorder)
{
    pthread_mutex_lock(&recorder->mutex);
    recorder->records.n = recorder->old = 0;
    pthread_mutex_unlock(&recorder->mutex);
}

void mtlm_recorder_add_edge(struct mtlm_recorder *recorder,
                            const struct mtlm_record_edge *edge)
{
    append(&recorder->edges, edge, sizeof(*edge));
}

void mtlm_recorder_add_use(struct mtlm_recorder *recorder,
                           const struct mtlm_record_use *use)
{
    append(&recorder->uses, use, sizeof(*use));
}

void mtlm_recorder_add_data(struct mtlm_recorder *recorder,
                            const struct mtlm_record_data *data)
{
    append(&recorder->data, data, sizeof(*data));
}

void mtlm_recorder_shift(struct mtlm_recorder *recorder,
                         const struct mtlm_clock_offsets *offsets)
{
    struct mtlm_record *record = recorder->records.entry;

    for (size_t i = 0; i < recorder->records.n; i++) {
        struct mtlm_record *r = &record[i];

        r->submit_ns += mtlm_clock_offset(offsets, r->submit_ns);
        r->ready_ns += mtlm_clock_offset(offsets, r->ready_ns);
        r->start_ns += mtlm_clock_offset(offsets, r->start_ns);
        r->end_ns += mtlm_clock_offset(offsets, r->end_ns);
    }
}

const struct mtlm_record *mtlm_recorder_records(
    const struct mtlm_recorder *recorder, size_t *n)
{
    *n = recorder->records.n;
    return recorder->records.entry;
}

const struct mtlm_record_edge *mtlm_recorder_edges(
    const struct mtlm_recorder *recorder, size_t *n)
{
    *n = recorder->edges.n;
    return recorder->edges.entry;
}

const struct mtlm_record_use *mtlm_recorder_uses(
    const struct mtlm_recorder *recorder, size_t *n)
{
    *n = recorder->uses.n;
    return recorder->uses.entry;
}

const struct mtlm_record_data *mtlm_recorder_data(
    const struct mtlm_recorder *recorder, size_t *n)
{
    *n = recorder->data.n;
    return recorder->data.entry;
}
