/* Encodes messages of Protocol Buffers. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/file/wire.h"

enum {
    VARINT = 0,
    FIXED64 = 1,
    LENGTH = 2,
    FIXED32 = 5
};                     /* types of a field */
enum { LONGEST = 10 }; /* bytes of a varint */

/* Writes a varint to byte and returns its bytes. */
static size_t encode(unsigned char byte[LONGEST], uint64_t value)
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        byte[n++] = (unsigned char) (value | 0x80);
    byte[n++] = (unsigned char) value;
    return n;
}

void mtlm_wire_append(struct mtlm_wire *wire, const void *data, size_t n)
{
    wire->byte = mtlm_make_room(wire->byte, &wire->capacity, wire->n + n, 1);
    if (n > 0)
        memcpy(wire->byte + wire->n, data, n);
    wire->n += n;
}

void mtlm_wire_append_fixed(struct mtlm_wire *wire, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        mtlm_wire_append(wire, &(unsigned char){value >> 8 * i & 0xff}, 1);
}

static void append_key(struct mtlm_wire *w, int field, int type)
{
    mtlm_wire_packed(w, (uint64_t) field << 3 | (uint64_t) type);
}

static void append_bytes(struct mtlm_wire *w, int field, const void *data,
                         size_t n)
{
    append_key(w, field, LENGTH);
    mtlm_wire_packed(w, n);
    mtlm_wire_append(w, data, n);
}

void mtlm_wire_packed(struct mtlm_wire *wire, uint64_t value)
{
    unsigned char byte[LONGEST];

    mtlm_wire_append(wire, byte, encode(byte, value));
}

void mtlm_wire_number(struct mtlm_wire *wire, int field, uint64_t value)
{
    append_key(wire, field, VARINT);
    mtlm_wire_packed(wire, value);
}

void mtlm_wire_double(struct mtlm_wire *wire, int field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    append_key(wire, field, FIXED64);
    mtlm_wire_append_fixed(wire, bits, sizeof(bits));
}

void mtlm_wire_float(struct mtlm_wire *wire, int field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    append_key(wire, field, FIXED32);
    mtlm_wire_append_fixed(wire, bits, sizeof(bits));
}

void mtlm_wire_text(struct mtlm_wire *wire, int field, const char *text)
{
    append_bytes(wire, field, text, strlen(text));
}

void mtlm_wire_message(struct mtlm_wire *wire, int field,
                       struct mtlm_wire *inner)
{
    append_bytes(wire, field, inner->byte, inner->n);
    inner->n = 0;
}

void mtlm_wire_put(FILE *f, struct mtlm_wire *wire)
{
    unsigned char byte[LONGEST];

    fwrite(byte, 1, encode(byte, wire->n), f);
    fwrite(wire->byte, 1, wire->n, f);
    wire->n = 0;
}

void mtlm_wire_free(struct mtlm_wire *wire)
{
    free(wire->byte);
}
