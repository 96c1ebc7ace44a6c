#ifndef MTLM_MESSAGE_TIMES_H
#define MTLM_MESSAGE_TIMES_H

#include <stddef.h>

#include "graph/layout.h"
#include "runtime/machine/recorder.h"

/* How long messages took in a run, from the records of all ranks: from the
 * moment when all ends had come to it - the data was there, and the place for
 * it - to its end. */
struct mtlm_message_times {
    int ranks;
    double *hop_s; /* [from * ranks + to] mean of sends; -1: there is none */
    double mean_hop_s; /* of all sends; -1: there is none */
    double tp_s;       /* mean of the tensor-parallel groups' collectives; -1 */
};

/* serial: collectives run one at a time, so that those that wait for another
 * count from their own start.  The caller destroys the result. */
struct mtlm_message_times mtlm_message_times_create(
    const struct mtlm_record *records, size_t n,
    const struct mtlm_layout *layout, bool serial);
void mtlm_message_times_destroy(struct mtlm_message_times *times);

#endif /* MTLM_MESSAGE_TIMES_H */
