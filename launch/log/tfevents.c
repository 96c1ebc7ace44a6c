/* Writes TensorBoard's event files.  A file is a list of records, each an event
 * in the encoding of protocol buffers: event {1: wall time (double), 2: step
 * (int64), 3: file version (string), 5: summary {1: value {1: tag (string), 2:
 * simple value (float)}}}. */
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

/* The wire types of protocol buffers, written with a field's number. */
enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(FILE *f, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        putc((int) (value & 0x7f) | 0x80, f);
    putc((int) value, f);
}

static void put_key(FILE *f, int field, enum wire wire)
{
    put_varint(f, field << 3 | wire);
}

/* The lowest bytes of value, lowest first. */
static void put_fixed(FILE *f, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        putc((int) (value >> 8 * i & 0xff), f);
}

static void put_double(FILE *f, int field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_key(f, field, FIXED64);
    put_fixed(f, bits, 8);
}

static void put_float(FILE *f, int field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_key(f, field, FIXED32);
    put_fixed(f, bits, 4);
}

static void put_bytes(FILE *f, int field, const void *data, size_t bytes)
{
    put_key(f, field, BYTES);
    put_varint(f, bytes);
    fwrite(data, 1, bytes, f);
}

/* A message or record while it is written, in memory. */
struct event_part {
    FILE *f;
    char *data;
    size_t bytes;
};

static FILE *begin_part(struct event_part *part)
{
    part->f = open_memstream(&part->data, &part->bytes);
    if (!part->f)
        mtlm_fatal(__FILE__, __LINE__, "out of memory for an event");
    return part->f;
}

static void end_part(struct event_part *part)
{
    fclose(part->f);
}

static uint32_t mask_crc(const void *data, size_t bytes)
{
    const uint32_t c = mtlm_tfevents_crc32c(data, bytes);

    return (c >> 15 | c << 17) + 0xa282ead8;
}

/* Writes a record: length, CRC of the length, event, CRC of the event. */
static void put_record(struct mtlm_tfevents *events, struct event_part *event)
{
    struct event_part record;
    FILE *f = begin_part(&record);

    end_part(event);
    put_fixed(f, event->bytes, 8);
    fflush(f);
    put_fixed(f, mask_crc(record.data, 8), 4);
    fwrite(event->data, 1, event->bytes, f);
    put_fixed(f, mask_crc(event->data, event->bytes), 4);
    end_part(&record);
    mtlm_append_file_put(events->file, record.data, record.bytes);
    free(record.data);
    free(event->data);
}

static void put_version(struct mtlm_tfevents *events, double time)
{
    static const char version[] = "brain.Event:2";
    struct event_part event;
    FILE *f = begin_part(&event);

    put_double(f, 1, time);
    put_bytes(f, 3, version, sizeof(version) - 1);
    put_record(events, &event);
}

static void put_scalar(FILE *f, const struct mtlm_scalar *scalar)
{
    struct event_part value;
    FILE *v = begin_part(&value);

    put_bytes(v, 1, scalar->tag, strlen(scalar->tag));
    put_float(v, 2, (float) scalar->value);
    end_part(&value);
    put_bytes(f, 1, value.data, value.bytes);
    free(value.data);
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
    struct event_part event, summary;
    FILE *f = begin_part(&event), *s = begin_part(&summary);

    if (!events->begun)
        put_version(events, time);
    events->begun = true;
    for (size_t i = 0; i < n; i++)
        put_scalar(s, &scalar[i]);
    end_part(&summary);
    put_double(f, 1, time);
    put_key(f, 2, VARINT);
    put_varint(f, step);
    put_bytes(f, 5, summary.data, summary.bytes);
    put_record(events, &event);
    free(summary.data);
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
