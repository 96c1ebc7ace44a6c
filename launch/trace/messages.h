#ifndef MTLM_TRACE_MESSAGES_H
#define MTLM_TRACE_MESSAGES_H

/* Matches the nodes of one message: a send and its receive, or the nodes of a
 * collective on all ranks of its group. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/machine/recorder.h"

/* A node of a message. */
struct mtlm_trace_end {
    /* Equal for all nodes of a message: group, its root, match; of a send or
     * receive -1, both ranks, match. */
    int64_t key[4];
    const struct mtlm_record *record;
};

/* Lists the records that carry a message number, sorted by message, then rank.
 * The caller frees the *n_ends ends. */
struct mtlm_trace_end *mtlm_trace_ends_create(const struct mtlm_record *record,
                                              size_t n, size_t *n_ends);

/* Whether both are nodes of one message. */
bool mtlm_trace_same_message(const struct mtlm_record *a,
                             const struct mtlm_record *b);

/* Index one past the last node of the message that begins at first. */
size_t mtlm_trace_ends_next(const struct mtlm_trace_end *end, size_t n_ends,
                            size_t first);

/* [n] For each record the time when the last node of its message was issued, at
 * most the record's end; without a message its start.  The caller frees it. */
int64_t *mtlm_trace_meetings(const struct mtlm_record *record, size_t n);

#endif /* MTLM_TRACE_MESSAGES_H */
