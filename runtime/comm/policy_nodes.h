#ifndef MTLM_POLICY_NODES_H
#define MTLM_POLICY_NODES_H

#include <stdbool.h>

#include <mtlm/policy.h>

#include "runtime/comm/lead.h"

/* The nodes that policies see (mtlm/policy.h), from submission to end.  All
 * functions may be called by any thread. */

/* Returns whether a policy watches nodes (mtlm_policy_watch()). */
bool mtlm_policy_nodes_wanted(void);

/* Adds a node at its submission.
 *   about        copied; about->job is larger than any before
 *   on [n_on]    jobs of the nodes that the node waits for; nodes that have
 *                ended or were never added are ignored
 *   times        borrowed until the node has ended
 *   modelled_ns  expected duration; 0: unknown
 * Returns the node, valid until mtlm_policy_nodes_ended(). */
struct mtlm_policy_node *mtlm_policy_nodes_add(
    const struct mtlm_policy_node *about, const int64_t *on, size_t n_on,
    struct mtlm_policy_times *times, int64_t modelled_ns);

/* Announces that a node is ready; messages only. */
void mtlm_policy_nodes_ready(struct mtlm_policy_node *node);

/* Announces that a node starts. */
void mtlm_policy_nodes_started(struct mtlm_policy_node *node);

/* Requests the announcement of a send: when the pass of the send starts, if the
 * duration of the pass is known; else when the send is ready.  Takes over
 * announcement.  Call before the send can be ready. */
void mtlm_policy_nodes_announce(struct mtlm_policy_node *send,
                                struct mtlm_policy_announcement *announcement);

/* Notes when a receive will end. */
void mtlm_policy_nodes_expect(struct mtlm_policy_node *receive,
                              int64_t when_ns);

/* Writes the ready task of highest priority to text [n]; without nodes, "a
 * ready task". */
void mtlm_policy_nodes_describe_ready(char *text, size_t n);

/* Sets what mtlm_policy_advice() returns. */
void mtlm_policy_nodes_advise(const struct mtlm_policy_advice *advice);

/* Announces that a node has ended; node is invalid afterwards.  Call before
 * StarPU starts any task that waits for the node. */
void mtlm_policy_nodes_ended(struct mtlm_policy_node *node);

/* Returns the node of a task, or NULL: the task has none. */
typedef const struct mtlm_policy_node *mtlm_policy_nodes_of(
    const struct starpu_task *task);

/* Sets how mtlm_policy_node() finds the node of a task of the graph.  Call
 * before the first task. */
void mtlm_policy_nodes_find_task(mtlm_policy_nodes_of *node_of);

/* Sets how mtlm_policy_node() finds the node of a task that is a message.  Call
 * before the first task. */
void mtlm_policy_nodes_find_message(mtlm_policy_nodes_of *node_of);

#endif /* MTLM_POLICY_NODES_H */
