/* Receives that are posted or announced: a hash table with chains. */

#include "config.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/incoming.h"

enum { FIRST_BITS = 6 };

/* Returns the link to the receive, or the end of its chain. */
static struct mtlm_incoming **link_of(const struct mtlm_incoming_table *t,
                                      int peer, int tag)
{
    const uint64_t key = (uint64_t) (uint32_t) peer << 32 | (uint32_t) tag;
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    struct mtlm_incoming **at = &t->chain[key * golden >> (64 - t->bits)];

    while (*at && ((*at)->peer != peer || (*at)->tag != tag))
        at = &(*at)->next;
    return at;
}

static void forget(struct mtlm_incoming_table *t, struct mtlm_incoming **at)
{
    struct mtlm_incoming *in = *at;

    *at = in->next;
    free(in);
    t->n--;
}

/* Forgets announcements that came behind their messages. */
static void forget_late(struct mtlm_incoming_table *t)
{
    const int64_t late = mtlm_now_ns() - 10 * INT64_C(1000000000);

    for (int64_t i = 0; i < INT64_C(1) << t->bits; i++)
        for (struct mtlm_incoming **at = &t->chain[i]; *at;)
            if ((*at)->node || (*at)->when_ns > late)
                at = &(*at)->next;
            else
                forget(t, at);
}

/* Moves all receives to twice as many chains. */
static void grow(struct mtlm_incoming_table *t)
{
    const struct mtlm_incoming_table old = *t;

    t->bits = old.chain ? old.bits + 1 : FIRST_BITS;
    t->chain =
        mtlm_calloc((size_t) 1 << t->bits, sizeof(struct mtlm_incoming *));
    for (int64_t i = 0; old.chain && i < INT64_C(1) << old.bits; i++)
        while (old.chain[i]) {
            struct mtlm_incoming *in = old.chain[i];

            old.chain[i] = in->next;
            in->next = NULL;
            *link_of(t, in->peer, in->tag) = in;
        }
    free(old.chain);
}

/* Makes room for one more.  A table that stays more than half full grows: so it
 * is not searched for late announcements again and again. */
static void make_room(struct mtlm_incoming_table *t)
{
    if (t->chain && t->n < 1 << t->bits)
        return;
    if (t->chain)
        forget_late(t);
    if (!t->chain || t->n > 1 << (t->bits - 1))
        grow(t);
}

struct mtlm_incoming *mtlm_incoming_find(struct mtlm_incoming_table *table,
                                         int peer, int tag)
{
    struct mtlm_incoming *in = table->chain ? *link_of(table, peer, tag) : NULL;

    if (in)
        return in;
    make_room(table);
    in = mtlm_calloc(1, sizeof(*in));
    *in = (struct mtlm_incoming){.peer = peer, .tag = tag};
    *link_of(table, peer, tag) = in;
    table->n++;
    return in;
}

void mtlm_incoming_end(struct mtlm_incoming_table *table, int peer, int tag,
                       const struct mtlm_policy_node *node)
{
    struct mtlm_incoming **at;

    if (!table->chain)
        return;
    at = link_of(table, peer, tag);
    if (*at && (*at)->node == node)
        forget(table, at);
}

void mtlm_incoming_clear(struct mtlm_incoming_table *table)
{
    for (int64_t i = 0; table->chain && i < INT64_C(1) << table->bits; i++)
        while (table->chain[i])
            forget(table, &table->chain[i]);
    free(table->chain);
    *table = (struct mtlm_incoming_table){0};
}
