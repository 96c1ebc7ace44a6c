#ifndef MTLM_LEAD_H
#define MTLM_LEAD_H

#include <stdbool.h>
#include <stdint.h>

#include <mtlm/policy.h>

/* When to announce a send (runtime/comm/arrivals.h).  A lead is the time from
 * the start of a pass until a send of the pass is ready.  A pass: F, or B and
 * W, of a microbatch on a virtual stage; nodes of B and W may alternate.  The
 * caller of all functions holds a lock.
 */

/* Numbers and means of the measured times of one node of the graph.  The owner
 * zeroes the struct before the first execution. */
struct mtlm_policy_times {
    int64_t n;
    double mean_ns; /* duration */
    int64_t n_leads;
    double lead_ns; /* of a send */
};

/* The announcement of a send to its receiver. */
struct mtlm_policy_announcement {
    /* Called once, by any thread, without lock; may free the announcement. */
    void (*announce)(struct mtlm_policy_announcement *announcement);
    int64_t when_ns; /* set before: when the message will arrive */
    struct mtlm_policy_announcement *next; /* in the result of mtlm_lead_*() */
};

struct mtlm_lead_pass;

/* A send of a pass.  The caller zeroes the struct and sets times and
 * modelled_ns; lead.c owns the other fields. */
struct mtlm_lead_send {
    struct mtlm_policy_times *times; /* borrowed */
    int64_t modelled_ns;             /* duration of the message; 0: unknown */
    int64_t modelled_lead_ns;
    struct mtlm_policy_announcement *announcement; /* NULL: called */
    struct mtlm_lead_send *next;
};

/* Adds a node to the pass of its rank's previous node, or to a new pass.
 * Returns the pass; NULL: the node has no microbatch, or is a load or a store,
 * which leaves the open pass as it is.  modelled_ns: of the node; 0:
 * unknown. */
struct mtlm_lead_pass *mtlm_lead_enter(const struct mtlm_policy_node *node,
                                       int64_t modelled_ns);

/* A node leaves its pass.  send: of this node; NULL: the node is no send. */
void mtlm_lead_leave(struct mtlm_lead_pass *pass, struct mtlm_lead_send *send);

/* The functions below return announcements for which the caller calls
 * announce(), linked by next.  pass may be NULL. */

/* A task of the pass starts.  The first task of a layer begins the lead.  A
 * task outside the layers, such as one that reads tokens, may run long before.
 */
struct mtlm_policy_announcement *mtlm_lead_begin(
    struct mtlm_lead_pass *pass, const struct mtlm_policy_node *task,
    int64_t now_ns);

/* A send is posted, the last node that entered its pass. */
struct mtlm_policy_announcement *mtlm_lead_post(
    struct mtlm_lead_pass *pass, struct mtlm_lead_send *send,
    struct mtlm_policy_announcement *announcement);

/* A send is ready. */
struct mtlm_policy_announcement *mtlm_lead_ready(struct mtlm_lead_pass *pass,
                                                 struct mtlm_lead_send *send,
                                                 int64_t now_ns);

#endif /* MTLM_LEAD_H */
