#ifndef MTLM_TRACE_MESSAGES_H
#define MTLM_TRACE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/machine/recorder.h"

/* Which nodes are one message: a send and its receive, or the nodes of a
 * collective on all ranks of its group. */
struct mtlm_trace_end {
    /* Group, its root, match; of a send or receive -1, both ranks, match: the
     * same of all nodes of a message. */
    int64_t key[4];
    const struct mtlm_record *record;
};

/* Those of the n records that say to which message they belong, message by
 * message, there by rank; the caller frees the *n_ends of them. */
struct mtlm_trace_end *mtlm_trace_ends_create(const struct mtlm_record *record,
                                              size_t n, size_t *n_ends);

/* Whether both are nodes of one message. */
bool mtlm_trace_same_message(const struct mtlm_record *a,
                             const struct mtlm_record *b);

/* Where the message that begins at first ends: one beyond its last node. */
size_t mtlm_trace_ends_next(const struct mtlm_trace_end *end, size_t n_ends,
                            size_t first);

/* [n] when the last node of each record's message was issued, but not after
 * the record's end; of what is no message its start.  The caller frees it. */
int64_t *mtlm_trace_meetings(const struct mtlm_record *record, size_t n);

#endif /* MTLM_TRACE_MESSAGES_H */
