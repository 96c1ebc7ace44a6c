/* Modelled durations of nodes: roofline for computation, latency and bandwidth
 * for messages. */

#include "config.h"

#include <math.h>

#include "graph/predict/cost.h"

const struct mtlm_cluster mtlm_cluster_usual = {
    .flops_per_s = 92.7e9,
    .efficiency = 0.95,
    .bytes_per_s = 27.5e9,
    .memory_efficiency = 1,
    .launch_s = 10e-6,
    .element_bytes = 4,
    .host = {.latency_s = 100e-6, .bytes_per_s = 3e9},
    .network = {.latency_s = 150e-6, .bytes_per_s = 1.25e9}};

/* ---- messages ---- */

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
static int ranks_on_host(int ranks, int hosts)
{
    return ranks % hosts ? 1 : ranks / hosts;
}

double mtlm_cost_all_reduce(const struct mtlm_cluster *cluster, int ranks,
                            int hosts, double bytes)
{
    const int k = ranks_on_host(ranks, hosts);

    if (hosts == 1)
        return all_reduce_seconds(&cluster->host, ranks, bytes);
    return 2 * ring_seconds(&cluster->host, k, bytes)
           + all_reduce_seconds(&cluster->network, ranks / k, bytes / k);
}

double mtlm_cost_gather(const struct mtlm_cluster *cluster, int ranks,
                        int hosts, double bytes)
{
    const int k = ranks_on_host(ranks, hosts);

    if (hosts == 1)
        return ring_seconds(&cluster->host, ranks, bytes);
    return ring_seconds(&cluster->host, k, bytes)
           + ring_seconds(&cluster->network, ranks / k, bytes / k);
}

static int host_of(const struct mtlm_cluster *cluster, int rank)
{
    return cluster->devices ? rank / cluster->devices : 0;
}

static double collective_seconds(const struct mtlm_cost *cost,
                                 const struct mtlm_node *node, double bytes)
{
    const struct mtlm_layout *layout = &cost->program->config.layout;
    const enum mtlm_group group = node->call.attr.collective.group;
    const bool reduces = node->call.kind == MTLM_OP_ALL_REDUCE
                         || node->call.kind == MTLM_OP_BUCKET_ALL_REDUCE;
    int ranks = 0, hosts = 0, seen = -1;

    for (int r = 0; r < mtlm_layout_ranks(layout); r++) {
        const int host = host_of(cost->cluster, r);
        struct mtlm_layout other = *layout;

        mtlm_layout_place(&other, r);
        if (!mtlm_layout_meet(layout, &other, group))
            continue;
        ranks++;
        hosts += host != seen; /* hosts hold consecutive ranks */
        seen = host;
    }
    return (reduces ? mtlm_cost_all_reduce
                    : mtlm_cost_gather)(cost->cluster, ranks, hosts, bytes);
}

static double send_seconds(const struct mtlm_cost *cost,
                           const struct mtlm_node *node, double bytes)
{
    const struct mtlm_cluster *cluster = cost->cluster;
    const int here = mtlm_layout_rank(&cost->program->config.layout);
    const struct mtlm_link *link =
        host_of(cluster, here) == host_of(cluster, node->call.attr.p2p.peer)
            ? &cluster->host
            : &cluster->network;

    return link->latency_s + transfer_seconds(link, bytes);
}

/* ---- computation ---- */

/* Bytes that the node reads and writes: in an fp32 job, elements of weights and
 * activations have the cluster's size. */
struct touched {
    double read, written;
};

static struct touched bytes_of(const struct mtlm_cost *cost,
                               const struct mtlm_node *node)
{
    const double real = cost->program->config.value == MTLM_REAL
                            ? cost->cluster->element_bytes
                            : mtlm_dtype_bytes(MTLM_REAL);
    const bool steps = node->call.kind == MTLM_OP_ADAM
                       || node->call.kind == MTLM_OP_ADAM_MASTER;
    const struct mtlm_tensor *gradient = NULL;
    struct touched bytes = {0};

    for (int i = 0; i < mtlm_node_n_uses(node); i++) {
        const struct mtlm_use use = mtlm_node_use(node, i);
        const enum mtlm_dtype dtype = use.tensor->dtype;
        const struct mtlm_tensor *t = use.tensor;
        double all;

        if (use.control)
            continue;
        /* Adam touches the piece of a weight that the gradient, an earlier
         * operand, belongs to. */
        if (t->storage == MTLM_STORE_GRAD)
            gradient = t;
        if (steps && dtype != MTLM_F64)
            t = gradient;
        all = mtlm_tensor_elems(t)
              * (dtype == MTLM_REAL ? real : mtlm_dtype_bytes(dtype));
        bytes.read += use.access == MTLM_W ? 0 : all;
        bytes.written += use.access == MTLM_R ? 0 : all;
    }
    return bytes;
}

/* Returns the bytes of a message; of a collective, those of the full vector,
 * which the node reads or writes. */
static double message_bytes(const struct mtlm_cost *cost,
                            const struct mtlm_node *node)
{
    const struct touched bytes = bytes_of(cost, node);

    return fmax(bytes.read, bytes.written);
}

static double device_seconds(const struct mtlm_cost *cost,
                             const struct mtlm_node *node)
{
    const struct mtlm_cluster *c = cost->cluster;
    const struct touched bytes = bytes_of(cost, node);

    return c->launch_s
           + fmax(node->flops / (c->efficiency * c->flops_per_s),
                  (bytes.read + bytes.written)
                      / (c->memory_efficiency * c->bytes_per_s));
}

static double timed_seconds(const struct mtlm_cost *cost,
                            const struct mtlm_node *node)
{
    if (node->layer < 0)
        return 0;
    switch (node->phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return node->flops * cost->s_per_flop[0];
    case MTLM_PHASE_BACKWARD:
        return node->flops
               * cost->s_per_flop[cost->forward[node->call.kind] ? 0 : 1];
    case MTLM_PHASE_WEIGHT:
        return node->flops * cost->s_per_flop[2];
    default:
        return 0;
    }
}

double mtlm_cost_seconds(const struct mtlm_cost *cost,
                         const struct mtlm_node *node)
{
    switch (mtlm_ops[node->call.kind]->op_class) {
    case MTLM_CLASS_COLLECTIVE:
        return collective_seconds(cost, node, message_bytes(cost, node));
    case MTLM_CLASS_P2P:
        return send_seconds(cost, node, message_bytes(cost, node));
    case MTLM_CLASS_COMPUTE:
        if (node->phase == MTLM_PHASE_INIT)
            return 0;
        return cost->cluster->timed ? timed_seconds(cost, node)
                                    : device_seconds(cost, node);
    default:
        return 0;
    }
}

/* ---- a stage's time per FLOP ---- */

/* Returns the FLOPs of the list's nodes in layers and in that phase, except
 * operations in `without`. */
static double layer_flops(const struct mtlm_list *list, enum mtlm_phase phase,
                          const bool *without)
{
    double flops = 0;

    for (int i = 0; i < list->n; i++)
        if (list->node[i]->layer >= 0 && list->node[i]->phase == phase
            && !(without && without[list->node[i]->call.kind]))
            flops += list->node[i]->flops;
    return flops;
}

struct mtlm_cost mtlm_cost_create(const struct mtlm_cluster *cluster,
                                  const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    struct mtlm_cost cost = {.cluster = cluster, .program = program};
    const double seconds[] = {cluster->forward_s, cluster->backward_s,
                              cluster->weight_s};
    double flops[3] = {0}, layers = 0;

    for (int c = 0; c < config->layout.virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];

        layers += stage->n_layers;
        for (int i = 0; i < stage->forward.n; i++)
            cost.forward[stage->forward.node[i]->call.kind] = true;
        flops[0] += layer_flops(&stage->forward, MTLM_PHASE_FORWARD, NULL);
        /* With recomputation, the backward list holds W nodes too. */
        flops[2] += layer_flops(&stage->weight, MTLM_PHASE_WEIGHT, NULL)
                    + layer_flops(&stage->backward, MTLM_PHASE_WEIGHT, NULL);
    }
    for (int c = 0; c < config->layout.virtual_stages; c++)
        flops[1] += layer_flops(&program->stage[c].backward,
                                MTLM_PHASE_BACKWARD, cost.forward);
    for (int i = 0; i < 3; i++)
        if (flops[i] > 0)
            cost.s_per_flop[i] = seconds[i] * layers
                                 * mtlm_layout_pipeline(&config->layout)
                                 / (config->model.num_layers * flops[i]);
    return cost;
}
