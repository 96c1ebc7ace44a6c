/* Durations of messages: latency and bandwidth, collectives on two levels. */

#include "config.h"

#include <math.h>

#include "graph/predict/message_cost.h"

static double transfer_seconds(const struct mtlm_link *link, double bytes)
{
    return link->bytes_per_s > 0 ? bytes / link->bytes_per_s : 0;
}

/* Reduce-scatter or all-gather in a ring. */
static double ring_seconds(const struct mtlm_link *link, int n, double bytes)
{
    return (n - 1) * link->latency_s
           + transfer_seconds(link, bytes * (n - 1) / (double) n);
}

static double all_reduce_seconds(const struct mtlm_link *link, int n,
                                 double bytes)
{
    if (n < 2)
        return 0;
    return fmin(2 * ring_seconds(link, n, bytes),
                2 * ceil(log2(n)) * link->latency_s
                    + 2 * transfer_seconds(link, bytes));
}

/* Returns the ranks of the group on each host; 1 if the hosts do not divide
 * them. */
static int ranks_on_host(const struct mtlm_message_group *group)
{
    return group->ranks % group->hosts ? 1 : group->ranks / group->hosts;
}

/* Returns the link between hosts as a group with k ranks on each host has
 * it. */
static struct mtlm_link group_link(const struct mtlm_cluster *cluster,
                                   const struct mtlm_message_group *group,
                                   int k)
{
    struct mtlm_link link = cluster->network;

    if (cluster->collective_bytes_per_s > 0)
        link.bytes_per_s = cluster->collective_bytes_per_s;
    if (k > 1 && group->per_host > 1 && cluster->shared_rate > 0)
        link.bytes_per_s *= cluster->shared_rate;
    return link;
}

double mtlm_message_cost_all_reduce(const struct mtlm_cluster *cluster,
                                    const struct mtlm_message_group *group,
                                    double bytes)
{
    const int k = ranks_on_host(group);
    const struct mtlm_link network = group_link(cluster, group, k);

    if (group->hosts == 1)
        return all_reduce_seconds(&cluster->host, group->ranks, bytes);
    return 2 * ring_seconds(&cluster->host, k, bytes)
           + all_reduce_seconds(&network, group->ranks / k, bytes / k);
}

double mtlm_message_cost_gather(const struct mtlm_cluster *cluster,
                                const struct mtlm_message_group *group,
                                double bytes)
{
    const int k = ranks_on_host(group);
    const struct mtlm_link network = group_link(cluster, group, k);

    if (group->hosts == 1)
        return ring_seconds(&cluster->host, group->ranks, bytes);
    return ring_seconds(&cluster->host, k, bytes)
           + ring_seconds(&network, group->ranks / k, bytes / k);
}

static int host_of(const struct mtlm_cluster *cluster, int rank)
{
    return cluster->devices ? rank / cluster->devices : 0;
}

double mtlm_message_cost_send(const struct mtlm_cluster *cluster, int from,
                              int to, double bytes)
{
    const struct mtlm_link *link =
        host_of(cluster, from) == host_of(cluster, to) ? &cluster->host
                                                       : &cluster->network;

    return link->latency_s + transfer_seconds(link, bytes);
}

bool mtlm_message_cost_is_alike(const struct mtlm_cluster *cluster,
                                const struct mtlm_layout *layout)
{
    const int64_t devices = cluster->devices;

    return devices == 0 || mtlm_layout_ranks(layout) <= devices
           || devices % layout->tp == 0 || layout->tp % devices == 0;
}

struct mtlm_message_group mtlm_message_cost_group(
    const struct mtlm_cluster *cluster, const struct mtlm_layout *layout,
    enum mtlm_group group)
{
    struct mtlm_message_group found = {.per_host = 1};
    int seen = -1, here = 0, most = 0, k;

    for (int r = 0; r < mtlm_layout_ranks(layout); r++) {
        const int host = host_of(cluster, r);
        struct mtlm_layout other = *layout;

        mtlm_layout_place(&other, r);
        if (!mtlm_layout_meet(layout, &other, group))
            continue;
        found.ranks++;
        found.hosts += host != seen; /* hosts hold consecutive ranks */
        here = host == seen ? here + 1 : 1;
        seen = host;
        most = here > most ? here : most;
    }
    if (found.ranks == 0)
        return found;
    if (most * found.hosts != found.ranks)
        found.hosts = found.ranks;
    k = ranks_on_host(&found);
    if (cluster->devices > k)
        found.per_host = cluster->devices / k;
    return found;
}
