#ifndef MTLM_MESSAGE_TIMES_H
#define MTLM_MESSAGE_TIMES_H

/* Measured durations of messages, from the records of all ranks.  A duration
 * begins when data and buffers of all ends are ready. */

#include <stddef.h>

#include "graph/layout.h"
#include "runtime/machine/recorder.h"

struct mtlm_message_times {
    int ranks;
    double *hop_s;     /* [from * ranks + to] mean of sends; -1: none */
    double mean_hop_s; /* of all sends; -1: none */
    double *share; /* [shares] of each send: its time by hop_s of its pair */
    int shares;
    double tp_s; /* mean of tensor-parallel collectives; -1: none */
};

/* Measures the messages of the records [n].  Tensor-parallel collectives
 * count from the end of the one before on each rank, where that is later.
 * serial: collectives run one at a time and count from their own start.  The
 * caller destroys the result. */
struct mtlm_message_times mtlm_message_times_create(
    const struct mtlm_record *records, size_t n,
    const struct mtlm_layout *layout, bool serial);
void mtlm_message_times_destroy(struct mtlm_message_times *times);

#endif /* MTLM_MESSAGE_TIMES_H */
