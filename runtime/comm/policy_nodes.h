#ifndef MTLM_POLICY_NODES_H
#define MTLM_POLICY_NODES_H

#include <stdbool.h>

#include <mtlm/policy.h>

/* The nodes that policies are told of (mtlm/policy.h), from submission
 * to end; safe from any thread. */

/* Whether a policy wants to know. */
bool mtlm_policy_nodes_wanted(void);

/* Times that one node of the graph took, over its executions; zeroed before
 * the first. */
struct mtlm_policy_times {
    int64_t n;
    double mean_ns;
};

/* A node is submitted; *about is copied, .job larger than any before.  It
 * waits for the nodes with the numbers on[] (those that have ended, or that
 * were never added, count for nothing).  times: borrowed until it has ended;
 * modelled_ns: how long it is to take, 0: not known.  Returns it: valid until
 * mtlm_policy_nodes_ended(). */
struct mtlm_policy_node *mtlm_policy_nodes_add(
    const struct mtlm_policy_node *about, const int64_t *on, size_t n_on,
    struct mtlm_policy_times *times, int64_t modelled_ns);

/* It becomes ready (messages only), starts, has ended: before StarPU lets
 * anything begin that waits for it. */
void mtlm_policy_nodes_ready(struct mtlm_policy_node *node);
void mtlm_policy_nodes_started(struct mtlm_policy_node *node);
void mtlm_policy_nodes_ended(struct mtlm_policy_node *node);

/* Returns the node of a task, or NULL: the task has none. */
typedef const struct mtlm_policy_node *mtlm_policy_nodes_of(
    const struct starpu_task *task);

/* Sets how mtlm_policy_node() finds the node of a task of the graph; of a task
 * that is a message.  Called before the first task. */
void mtlm_policy_nodes_find_task(mtlm_policy_nodes_of *node_of);
void mtlm_policy_nodes_find_message(mtlm_policy_nodes_of *node_of);

#endif /* MTLM_POLICY_NODES_H */
