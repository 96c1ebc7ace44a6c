#ifndef MTLM_WIRE_H
#define MTLM_WIRE_H

/* Messages of Protocol Buffers, as bytes: a field is a varint of its number and
 * type, then a varint, 4 or 8 bytes, or a length with so many bytes.  Source:
 * Protocol Buffers Documentation, "Encoding". */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A message that grows; all zero: an empty one. */
struct mtlm_wire {
    unsigned char *byte; /* [n] owned */
    size_t n, capacity;
};

/* Appends a number of a packed list: a varint without a field. */
void mtlm_wire_packed(struct mtlm_wire *wire, uint64_t value);

/* Appends a field of an integer, bool or enum.  A negative number is its two's
 * complement in 64 bits. */
void mtlm_wire_number(struct mtlm_wire *wire, int field, uint64_t value);

/* Appends a field of a floating-point number. */
void mtlm_wire_double(struct mtlm_wire *wire, int field, double value);
void mtlm_wire_float(struct mtlm_wire *wire, int field, float value);

/* Appends a field of text. */
void mtlm_wire_text(struct mtlm_wire *wire, int field, const char *text);

/* Appends a field of a message or packed list, and empties the latter. */
void mtlm_wire_message(struct mtlm_wire *wire, int field,
                       struct mtlm_wire *inner);

/* Appends bytes as they are, and the lowest bytes of a number, lowest first: a
 * file may have these around messages. */
void mtlm_wire_append(struct mtlm_wire *wire, const void *data, size_t n);
void mtlm_wire_append_fixed(struct mtlm_wire *wire, uint64_t value, int bytes);

/* Writes length and message, as streams of messages have them, and empties the
 * message.  A failure stays in f (ferror()). */
void mtlm_wire_put(FILE *f, struct mtlm_wire *wire);

/* Frees the bytes. */
void mtlm_wire_free(struct mtlm_wire *wire);

#endif /* MTLM_WIRE_H */
