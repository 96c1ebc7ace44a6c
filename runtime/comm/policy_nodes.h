#ifndef MTLM_POLICY_NODES_H
#define MTLM_POLICY_NODES_H

#include <stdbool.h>

#include <mtlm/policy.h>

/* The nodes that policies see (mtlm/policy.h), from submission to end.  All
 * functions may be called by any thread. */

/* Returns whether a policy watches nodes (mtlm_policy_watch()). */
bool mtlm_policy_nodes_wanted(void);

/* Number and mean of the measured durations of one node of the graph.  The
 * caller zeroes the struct before the first execution. */
struct mtlm_policy_times {
    int64_t n;
    double mean_ns;
};

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
