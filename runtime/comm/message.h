#ifndef MTLM_MESSAGE_H
#define MTLM_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <starpu.h>

#include "runtime/base/dtype.h"
#include "runtime/comm/engine.h"
#include "runtime/comm/group.h"
#include "runtime/machine/recorder.h"

/* A message of the communication engine: a send, a receive or a collective. */
enum mtlm_message_kind {
    MTLM_SEND,
    MTLM_RECV,
    MTLM_ALL_REDUCE, /* in place */
    /* From handle [all blocks] to into [this rank's block of the sum].  In
     * place where into is that block of handle's memory: handle's other blocks
     * are undefined afterwards. */
    MTLM_REDUCE_SCATTER,
    /* From handle [this rank's block] to into [all blocks, by rank].  Without
     * into in place: handle is [all blocks]. */
    MTLM_ALL_GATHER,
};

/* A list of handles is data that is contiguous in memory, with at most an
 * arena's padding between two handles and behind the last one: tensors of one
 * arena travel as one.  A handle stands in at most one list of a message. */
struct mtlm_message {
    enum mtlm_message_kind kind;
    /* Read; written by a receive; read and written by what works in place.  The
     * message starts when the data of all lists is there. */
    const starpu_data_handle_t *handle; /* [n_handles] */
    int n_handles;
    const starpu_data_handle_t *into; /* [n_into] written, see kind */
    int n_into;
    /* Ordering only: acquired as each mode says, never modified. */
    const struct starpu_data_descr *control; /* [n_control] */
    int n_control;
    /* Elements of handle, padding included: of an all-gather one rank's block,
     * of a reduce-scatter all blocks, a multiple of the group's size. */
    int64_t count;
    /* Elements of padding before the first handle's data. */
    int64_t before, into_before;
    /* > 0: duration of a modelled transfer, in ns.  A send is issued this long
     * after its data is there.  A collective is handed back this long after its
     * completion and those of its lane before it.  It counts as in flight until
     * then. */
    int64_t duration_ns;
    enum mtlm_dtype dtype;
    int peer, tag;         /* of sends and receives */
    enum mtlm_group group; /* of collectives */
    enum mtlm_reduce reduce;
    int priority;     /* the larger, the earlier */
    const char *name; /* of the operation; outlives the engine */
    /* The node that policies see (runtime/comm/policy_nodes.h), or NULL. */
    struct mtlm_policy_node *node;
    bool recorded;             /* complete record, and add it */
    struct mtlm_record record; /* the part that is known at submission */
};

static inline bool mtlm_message_is_collective(enum mtlm_message_kind kind)
{
    return kind >= MTLM_ALL_REDUCE;
}

/* Whether the message both reads and writes handle. */
static inline bool mtlm_message_in_place(const struct mtlm_message *message)
{
    return message->kind == MTLM_ALL_REDUCE
           || (message->kind == MTLM_ALL_GATHER && message->n_into == 0);
}

/* Posts a message, which is copied with its lists.  Called by one thread, in
 * program order.  All ranks of a tensor-parallel group post the same
 * collectives in the same order.  Ends the job for a count beyond MPI's limits.
 */
void mtlm_message_post(struct mtlm_engine *engine,
                       const struct mtlm_message *message);

#endif /* MTLM_MESSAGE_H */
