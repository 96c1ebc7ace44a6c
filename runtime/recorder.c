#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/memory.h"
#include "runtime/recorder.h"

struct mtlm_recorder {
    pthread_mutex_t mutex; /* guards all below */
    struct mtlm_record *record;
    size_t n, capacity;
};

struct mtlm_recorder *mtlm_recorder_create(void)
{
    struct mtlm_recorder *recorder = mtlm_calloc(1, sizeof(*recorder));

    pthread_mutex_init(&recorder->mutex, NULL);
    return recorder;
}

void mtlm_recorder_destroy(struct mtlm_recorder *recorder)
{
    if (!recorder)
        return;
    pthread_mutex_destroy(&recorder->mutex);
    free(recorder->record);
    free(recorder);
}

void mtlm_recorder_add(struct mtlm_recorder *recorder,
                       const struct mtlm_record *record)
{
    pthread_mutex_lock(&recorder->mutex);
    if (recorder->n == recorder->capacity) {
        recorder->capacity = recorder->n ? 2 * recorder->n : 1024;
        recorder->record = mtlm_realloc(recorder->record, recorder->capacity,
                                        sizeof(*recorder->record));
    }
    recorder->record[recorder->n++] = *record;
    pthread_mutex_unlock(&recorder->mutex);
}

void mtlm_recorder_shift(struct mtlm_recorder *recorder, int64_t offset_ns)
{
    for (size_t i = 0; i < recorder->n; i++) {
        struct mtlm_record *r = &recorder->record[i];

        r->submit_ns += offset_ns;
        r->ready_ns += offset_ns;
        r->start_ns += offset_ns;
        r->end_ns += offset_ns;
    }
}

const struct mtlm_record *mtlm_recorder_records(
    const struct mtlm_recorder *recorder, size_t *n)
{
    *n = recorder->n;
    return recorder->record;
}
