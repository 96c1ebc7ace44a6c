#ifndef MTLM_INCOMING_H
#define MTLM_INCOMING_H

#include <stdint.h>

#include <mtlm/policy.h>

/* Receives, found by peer and tag in constant time: two iterations of receives
 * may be posted.  The caller of all functions holds a lock. */

/* A receive.  One without a node is announced, but not posted yet. */
struct mtlm_incoming {
    int peer, tag;
    struct mtlm_policy_node *node;
    int64_t when_ns;            /* 0: not announced */
    struct mtlm_incoming *next; /* in its chain */
};

/* A table of receives; zeroed: empty. */
struct mtlm_incoming_table {
    struct mtlm_incoming **chain; /* [1 << bits]; NULL: no room yet */
    int bits, n;
};

/* Returns the receive of the peer and the tag, with or without a node, or a new
 * one.  The receive stays where it is until the table forgets it. */
struct mtlm_incoming *mtlm_incoming_find(struct mtlm_incoming_table *table,
                                         int peer, int tag);

/* Forgets the receive, if it has that node. */
void mtlm_incoming_end(struct mtlm_incoming_table *table, int peer, int tag,
                       const struct mtlm_policy_node *node);

/* Forgets all receives. */
void mtlm_incoming_clear(struct mtlm_incoming_table *table);

#endif /* MTLM_INCOMING_H */
