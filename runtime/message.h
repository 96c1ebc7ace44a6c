#ifndef MTLM_MESSAGE_H
#define MTLM_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <starpu.h>

#include "runtime/dtype.h"
#include "runtime/engine.h"
#include "runtime/group.h"
#include "runtime/recorder.h"

enum mtlm_message_kind { MTLM_SEND, MTLM_RECV, MTLM_ALL_REDUCE };

struct mtlm_message {
    enum mtlm_message_kind kind;
    /* Data, one after the other in memory: the message goes when the last
     * one is there, so that tensors of one arena travel as one. */
    const starpu_data_handle_t *handle;
    int n_handles;
    int64_t count; /* elements from the first one's begin to the last one's
                    * end, padding of the arena included */
    enum mtlm_dtype dtype;
    int peer, tag;         /* send and receive */
    enum mtlm_group group; /* all-reduce, in place */
    enum mtlm_reduce reduce;
    int priority;
    bool recorded; /* whether record is to be completed and added */
    struct mtlm_record record;
};

/* Copies message.  Called by one thread, in program order, the same
 * collectives in the same order on all ranks of a tensor-parallel group. */
void mtlm_engine_post(struct mtlm_engine *engine,
                      const struct mtlm_message *message);

#endif /* MTLM_MESSAGE_H */
