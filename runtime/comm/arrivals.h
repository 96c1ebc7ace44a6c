#ifndef MTLM_ARRIVALS_H
#define MTLM_ARRIVALS_H

/* Announcements of messages.  A sender tells the receiver when a message will
 * arrive, so that the receiver's scheduling policy can wait for the message
 * (mtlm_policy_end_ns() of mtlm/policy.h).
 *
 * A message is announced once: when its pass starts, if earlier passes show how
 * long the pass takes; else when its data is ready.  An announcement has 16
 * bytes.  A late or lost announcement changes no result.  One is lost that
 * comes before the previous message of the same tag has ended; tags repeat
 * after many microbatches. */

#include <stdbool.h>

#include "runtime/comm/message.h"

struct mtlm_arrivals;

/* Returns a new object, or NULL if some rank has no policy that watches nodes.
 * A collective call of the main threads.  ranks is borrowed. */
struct mtlm_arrivals *mtlm_arrivals_start(struct mtlm_ranks *ranks);

/* The functions below do nothing if arrivals is NULL. */

/* Announces a send when the time has come, or waits for the announcement of a
 * receive.  Call before StarPU is asked for the message's data.  Messages
 * without a node, and collectives, are ignored. */
void mtlm_arrivals_post(struct mtlm_arrivals *arrivals,
                        const struct mtlm_message *message);

/* Forgets a receive, before its node ends.  Called by the engine's thread. */
void mtlm_arrivals_end(struct mtlm_arrivals *arrivals,
                       const struct mtlm_message *message);

/* Sends and receives announcements; returns whether there were any.  Called by
 * the engine's thread within a turn of MPI. */
bool mtlm_arrivals_exchange(struct mtlm_arrivals *arrivals);

/* Destroys arrivals.  No announcement is sent or received any more. */
void mtlm_arrivals_stop(struct mtlm_arrivals *arrivals);

#endif /* MTLM_ARRIVALS_H */
