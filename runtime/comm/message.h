#ifndef MTLM_MESSAGE_H
#define MTLM_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <starpu.h>

#include "runtime/base/dtype.h"
#include "runtime/comm/engine.h"
#include "runtime/comm/group.h"
#include "runtime/machine/recorder.h"

enum mtlm_message_kind {
    MTLM_SEND,
    MTLM_RECV,
    MTLM_ALL_REDUCE,     /* in place */
    MTLM_REDUCE_SCATTER, /* from handle to into, which get the block of the
                          * sum that has this rank's number in the group;
                          * in place where they are that block of handle's
                          * memory: its other blocks are undefined then */
    MTLM_ALL_GATHER,     /* from handle, which is this rank's block, to into,
                          * which get all blocks in order of rank; without
                          * into in place: handle is all blocks */
};

/* A list of handles is data that lies one after the other in memory, with no
 * more than an arena's padding between two and behind the last, so that
 * tensors of one arena travel as one.  No handle stands in two lists of a
 * message. */
struct mtlm_message {
    enum mtlm_message_kind kind;
    /* Read; of a receive written, of what is done in place both.  The message
     * goes when all data of all lists is there. */
    const starpu_data_handle_t *handle;
    int n_handles;
    const starpu_data_handle_t *into; /* written, see kind */
    int n_into;
    /* Taken as if written and handed back untouched: the message comes after
     * all that uses them before it, and before all that does after it. */
    const starpu_data_handle_t *control;
    int n_control;
    int64_t count; /* elements of handle, padding included: of an all-gather
                    * one rank's block, of a reduce-scatter all blocks, a
                    * multiple of the group's size */
    /* Elements (padding) that come before the first handle's data. */
    int64_t before, into_before;
    /* > 0: models a transfer of that many nanoseconds.  A send is issued so
     * long after its data is there; a collective is handed back so long after
     * it is complete, and counts as under way until then. */
    int64_t duration_ns;
    enum mtlm_dtype dtype;
    int peer, tag;         /* send and receive */
    enum mtlm_group group; /* the others */
    enum mtlm_reduce reduce;
    int priority;
    const char *name; /* of the operation; lives as long as the engine */
    /* What policies are told of it (runtime/comm/policy_nodes.h), or NULL. */
    struct mtlm_policy_node *node;
    bool recorded; /* whether record is to be completed and added */
    struct mtlm_record record;
};

static inline bool mtlm_message_is_collective(enum mtlm_message_kind kind)
{
    return kind >= MTLM_ALL_REDUCE;
}

/* Whether the handles are both read and written. */
static inline bool mtlm_message_in_place(const struct mtlm_message *message)
{
    return message->kind == MTLM_ALL_REDUCE
           || (message->kind == MTLM_ALL_GATHER && message->n_into == 0);
}

/* Copies message.  Called by one thread, in program order, the same
 * collectives in the same order on all ranks of a tensor-parallel group. */
void mtlm_engine_post(struct mtlm_engine *engine,
                      const struct mtlm_message *message);

#endif /* MTLM_MESSAGE_H */
