/* The orders that a search found: those near the best, and the choice. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/predict/found_order.h"
#include "graph/predict/limits.h"
#include "runtime/base/memory.h"

void mtlm_found_order_free(struct mtlm_found_order *found)
{
    if (found->order.ranks > 0)
        mtlm_order_free(&found->order);
    found->order.ranks = 0;
}

bool mtlm_found_orders_want(const struct mtlm_found_orders *orders,
                            double seconds)
{
    return orders->n == 0 || seconds * MTLM_WORTH_SHARE <= orders->least;
}

/* Returns the seconds behind late messages, with what a chain must gain. */
static double late_cost(const struct mtlm_found_order *found)
{
    const bool chained =
        found->order.ranks > 0 && found->follow == MTLM_FOLLOW_STRICT;

    return chained ? found->late_seconds / MTLM_WORTH_SHARE
                   : found->late_seconds;
}

/* Whether b is no better than a, which came first. */
static bool precedes(const struct mtlm_found_order *a,
                     const struct mtlm_found_order *b)
{
    return a->seconds <= b->seconds && late_cost(a) <= late_cost(b);
}

/* Whether the order cannot be chosen beside a new one. */
static bool is_beaten(const struct mtlm_found_orders *orders,
                      const struct mtlm_found_order *old,
                      const struct mtlm_found_order *new)
{
    return !mtlm_found_orders_want(orders, old->seconds) || precedes(new, old);
}

void mtlm_found_orders_add(struct mtlm_found_orders *orders,
                           const struct mtlm_found_order *found)
{
    struct mtlm_found_order new = *found;
    bool wanted = mtlm_found_orders_want(orders, new.seconds);
    int n = 0;

    for (int i = 0; i < orders->n; i++)
        wanted = wanted && !precedes(&orders->found[i], &new);
    if (!wanted) {
        mtlm_found_order_free(&new);
        return;
    }
    orders->least =
        orders->n == 0 ? new.seconds : fmin(orders->least, new.seconds);
    for (int i = 0; i < orders->n; i++)
        if (is_beaten(orders, &orders->found[i], &new))
            mtlm_found_order_free(&orders->found[i]);
        else
            orders->found[n++] = orders->found[i];
    orders->found = mtlm_realloc(orders->found, n + 1, sizeof(new));
    orders->found[n] = new;
    orders->n = n + 1;
}

struct mtlm_found_order mtlm_found_orders_choose(
    struct mtlm_found_orders *orders)
{
    struct mtlm_found_order best = orders->found[0];

    assert(orders->n > 0);
    for (int i = 1; i < orders->n; i++) {
        struct mtlm_found_order *one = &orders->found[i];

        if (late_cost(one) < late_cost(&best)) {
            mtlm_found_order_free(&best);
            best = *one;
        } else {
            mtlm_found_order_free(one);
        }
    }
    free(orders->found);
    *orders = (struct mtlm_found_orders){0};
    return best;
}
