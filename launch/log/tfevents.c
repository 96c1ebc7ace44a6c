/* Writes TensorBoard's event files.  A file is a list of records, each an event
 * in the encoding of protocol buffers: event {1: wall time (double), 2: step
 * (int64), 3: file version (string), 5: summary {1: value {1: tag (string), 2:
 * simple value (float)}}, 7: session log {1: status (enum)}}. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launch/log/append_file.h"
#include "launch/log/tfevents.h"
#include "runtime/base/memory.h"
#include "runtime/file/wire.h"

struct mtlm_tfevents {
    struct mtlm_append_file *file;
    bool begun; /* the file's first record is written */
};

uint32_t mtlm_tfevents_crc32c(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint32_t c = ~0u;

    for (size_t i = 0; i < bytes; i++) {
        c ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? 0x82F63B78 : 0);
    }
    return ~c;
}

static uint32_t mask_crc(const void *data, size_t bytes)
{
    const uint32_t c = mtlm_tfevents_crc32c(data, bytes);

    return (c >> 15 | c << 17) + 0xa282ead8;
}

/* Writes a record: length, CRC of the length, event, CRC of the event.  Frees
 * the event. */
static void put_record(struct mtlm_tfevents *events, struct mtlm_wire *event)
{
    struct mtlm_wire record = {.n = 0};

    mtlm_wire_append_fixed(&record, event->n, 8);
    mtlm_wire_append_fixed(&record, mask_crc(record.byte, 8), 4);
    mtlm_wire_append(&record, event->byte, event->n);
    mtlm_wire_append_fixed(&record, mask_crc(event->byte, event->n), 4);
    mtlm_append_file_put(events->file, record.byte, record.n);
    mtlm_wire_free(&record);
    mtlm_wire_free(event);
}

/* Writes the version before the first event. */
static void begin_file(struct mtlm_tfevents *events, double time)
{
    struct mtlm_wire event = {.n = 0};

    if (events->begun)
        return;
    events->begun = true;
    mtlm_wire_double(&event, 1, time);
    mtlm_wire_text(&event, 3, "brain.Event:2");
    put_record(events, &event);
}

void mtlm_tfevents_start(struct mtlm_tfevents *events, double time,
                         int64_t step)
{
    enum { START = 1 };
    struct mtlm_wire event = {.n = 0}, log = {.n = 0};

    begin_file(events, time);
    mtlm_wire_number(&log, 1, START);
    mtlm_wire_double(&event, 1, time);
    mtlm_wire_number(&event, 2, (uint64_t) step);
    mtlm_wire_message(&event, 7, &log);
    put_record(events, &event);
    mtlm_wire_free(&log);
}

struct mtlm_tfevents *mtlm_tfevents_open(const char *dir,
                                         struct mtlm_error *err)
{
    char host[256] = "localhost", *path;
    struct mtlm_append_file *file;
    struct mtlm_tfevents *events;

    gethostname(host, sizeof(host) - 1);
    path = mtlm_sprintf("%s/events.out.tfevents.%lld.%s.%ld", dir,
                        (long long) time(NULL), host, (long) getpid());
    file = mtlm_append_file_open(path, err);
    free(path);
    if (!file)
        return NULL;
    events = mtlm_calloc(1, sizeof(*events));
    events->file = file;
    return events;
}

void mtlm_tfevents_add(struct mtlm_tfevents *events, double time, int64_t step,
                       const struct mtlm_scalar *scalar, size_t n)
{
    struct mtlm_wire event = {.n = 0}, summary = {.n = 0}, part = {.n = 0};

    begin_file(events, time);
    for (size_t i = 0; i < n; i++) {
        mtlm_wire_text(&part, 1, scalar[i].tag);
        mtlm_wire_float(&part, 2, (float) scalar[i].value);
        mtlm_wire_message(&summary, 1, &part);
    }
    mtlm_wire_double(&event, 1, time);
    mtlm_wire_number(&event, 2, (uint64_t) step);
    mtlm_wire_message(&event, 5, &summary);
    put_record(events, &event);
    mtlm_wire_free(&summary);
    mtlm_wire_free(&part);
}

int mtlm_tfevents_close(struct mtlm_tfevents *events)
{
    int rc;

    if (!events)
        return 0;
    rc = mtlm_append_file_close(events->file);
    free(events);
    return rc;
}
