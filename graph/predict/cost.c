/* Modelled durations of nodes: a sum of terms, each in a file of its own. */

#include "config.h"

#include <math.h>

#include "graph/predict/cost.h"
#include "graph/predict/gemm_cost.h"
#include "graph/predict/memory_cost.h"
#include "graph/predict/profile.h"
#include "graph/predict/score_cost.h"

/* ---- messages ---- */

/* Returns the bytes of a message; of a collective, those of the full vector,
 * which the node reads or writes. */
static double message_bytes(const struct mtlm_cost *cost,
                            const struct mtlm_node *node)
{
    /* Published code reduces gradients of fp16 jobs in 16 bits. */
    const bool halves = cost->cluster->profile && node->lane == MTLM_LANE_DP
                        && cost->program->config.value == MTLM_F16;
    const struct mtlm_touched bytes = mtlm_memory_cost_touched(
        node, halves ? mtlm_dtype_bytes(MTLM_F16)
                     : mtlm_memory_cost_element(cost->cluster, cost->program));

    return fmax(bytes.read, bytes.written);
}

static double collective_seconds(const struct mtlm_cost *cost,
                                 const struct mtlm_node *node)
{
    const enum mtlm_group group = node->call.attr.collective.group;
    const bool reduces = node->call.kind == MTLM_OP_ALL_REDUCE
                         || node->call.kind == MTLM_OP_BUCKET_ALL_REDUCE;
    const double seconds =
        (reduces ? mtlm_message_cost_all_reduce : mtlm_message_cost_gather)(
            cost->cluster, &cost->group[group], message_bytes(cost, node));
    const struct mtlm_profile *profile = cost->cluster->profile;

    return profile && !cost->cluster->overlaps
                   && mtlm_profile_hides(profile, node)
               ? seconds * cost->cluster->overlap_tax
               : seconds;
}

/* scatters: each tensor-parallel rank sends its share, and the receivers gather
 * (arXiv 2104.04473, section 4.1). */
static double send_seconds(const struct mtlm_cost *cost,
                           const struct mtlm_node *node)
{
    const struct mtlm_layout *layout = &cost->program->config.layout;
    const int here = mtlm_layout_rank(layout);
    const int there = node->call.attr.p2p.peer;
    const double bytes = message_bytes(cost, node);
    const bool scatters = cost->cluster->profile
                          && cost->cluster->profile->scatters && layout->tp > 1
                          && !mtlm_program_splits_rows(&cost->program->config);

    if (!scatters)
        return mtlm_message_cost_send(cost->cluster, here, there, bytes);
    return mtlm_message_cost_send(cost->cluster, here, there,
                                  bytes / layout->tp)
           + mtlm_message_cost_gather(cost->cluster,
                                      &cost->group[MTLM_GROUP_TP], bytes);
}

/* ---- loads and stores ---- */

/* Returns the ranks of the stage that lie on one host. */
static double ranks_of_disk(const struct mtlm_cost *cost)
{
    const struct mtlm_layout *layout = &cost->program->config.layout;
    const double ranks = (double) layout->tp * layout->dp;

    return cost->cluster->devices > 0 ? fmin(ranks, cost->cluster->devices)
                                      : ranks;
}

static double disk_seconds(const struct mtlm_cost *cost,
                           const struct mtlm_node *node)
{
    const struct mtlm_disk *disk = &cost->cluster->disk;
    const double rate = node->call.kind == MTLM_OP_LOAD
                            ? disk->read_bytes_per_s
                            : disk->written_bytes_per_s;

    return rate > 0 ? ranks_of_disk(cost) * node->bytes / rate : 0;
}

/* ---- computation ---- */

/* Returns the bytes of an element of a product. */
static double value_bytes(const struct mtlm_cost *cost)
{
    const enum mtlm_dtype value = cost->program->config.value;

    return value == MTLM_REAL ? cost->cluster->element_bytes
                              : mtlm_dtype_bytes(value);
}

static double products_seconds(const struct mtlm_cost *cost,
                               const struct mtlm_node *node)
{
    struct mtlm_gemm product[MTLM_MAX_GEMMS];
    const double element = value_bytes(cost);
    double seconds = 0;

    for (const struct mtlm_call *call = &node->call; call; call = call->next) {
        const int n = mtlm_gemm_cost_products(call, product);

        for (int i = 0; i < n; i++)
            seconds +=
                mtlm_gemm_cost_seconds(cost->cluster, &product[i], element);
    }
    return seconds;
}

static bool is_linear(const struct mtlm_node *node)
{
    struct mtlm_gemm product[MTLM_MAX_GEMMS];

    return mtlm_gemm_cost_products(&node->call, product) == 1;
}

/* Our kernels.  Those of attention keep no scores, unless the backend says so:
 * their FLOPs take as long as those of large products.  (FlashAttention-2
 * reaches 0.8 to 0.9 of that on an A100: arXiv 2307.08691.) */
static double device_seconds(const struct mtlm_cost *cost,
                             const struct mtlm_node *node)
{
    const struct mtlm_cluster *c = cost->cluster;
    const struct mtlm_touched bytes = mtlm_memory_cost_touched(
        node, mtlm_memory_cost_element(c, cost->program));
    const struct mtlm_score_cost scores =
        mtlm_score_cost(&node->call, value_bytes(cost));
    const double computing =
        c->processors && is_linear(node)
            ? products_seconds(cost, node)
            : node->flops / (c->efficiency * c->flops_per_s);

    return scores.kernels * c->launch_s
           + fmax(computing,
                  mtlm_memory_cost_seconds(c, bytes.read + bytes.written
                                                  + scores.products))
           + mtlm_memory_cost_seconds(c, scores.apart);
}

/* The kernels of published code, one after another. */
static double published_seconds(const struct mtlm_cost *cost,
                                const struct mtlm_node *node)
{
    const struct mtlm_cluster *c = cost->cluster;
    int kernels;
    const double bytes =
        mtlm_profile_bytes(c->profile, node, value_bytes(cost), &kernels);

    return kernels
               * (c->profile->launch_s > 0 ? c->profile->launch_s : c->launch_s)
           + products_seconds(cost, node) + mtlm_memory_cost_seconds(c, bytes);
}

static double kernel_seconds(const struct mtlm_cost *cost,
                             const struct mtlm_node *node)
{
    return (cost->cluster->profile ? published_seconds : device_seconds)(cost,
                                                                         node);
}

/* Returns the factor on a node's kernels: what messages beside them cost, or
 * the host that launches them. */
static double slowdown_of(const struct mtlm_cost *cost,
                          const struct mtlm_node *node)
{
    switch (node->phase) {
    case MTLM_PHASE_FORWARD:
    case MTLM_PHASE_EVAL:
        return cost->slowdown[0];
    case MTLM_PHASE_BACKWARD:
    case MTLM_PHASE_WEIGHT:
        return cost->slowdown[1];
    default:
        return 1;
    }
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
        return collective_seconds(cost, node);
    case MTLM_CLASS_P2P:
        return send_seconds(cost, node);
    case MTLM_CLASS_DISK:
        return disk_seconds(cost, node);
    case MTLM_CLASS_COMPUTE:
        if (node->phase == MTLM_PHASE_INIT)
            return 0;
        return cost->cluster->timed
                   ? timed_seconds(cost, node)
                   : kernel_seconds(cost, node) * slowdown_of(cost, node);
    default:
        return 0;
    }
}

double mtlm_cost_product_flops(const struct mtlm_program *program)
{
    double flops = 0;

    for (int i = 0; i < program->train.n; i++)
        flops += mtlm_gemm_cost_flops(&program->train.item[i].node->call);
    return flops;
}

/* ---- computation that messages or the host slow down ---- */

struct load {
    double computing, messages; /* seconds */
    int kernels;
};

static void add_load(const struct mtlm_cost *cost, const struct mtlm_list *list,
                     struct load *load)
{
    for (int i = 0; i < list->n; i++) {
        const struct mtlm_node *node = list->node[i];
        int kernels = 1;

        if (node->lane == MTLM_LANE_TP) {
            load->messages += collective_seconds(cost, node);
        } else if (mtlm_ops[node->call.kind]->op_class == MTLM_CLASS_COMPUTE) {
            load->computing += kernel_seconds(cost, node);
            if (cost->cluster->profile)
                mtlm_profile_bytes(cost->cluster->profile, node,
                                   value_bytes(cost), &kernels);
        } else {
            continue;
        }
        load->kernels += kernels;
    }
}

/* Our order computes beside messages and pays the tax for them.  Published code
 * waits for the host where launches take longer than kernels. */
static double slowdown_by(const struct mtlm_cluster *c, const struct load *load)
{
    const double taxed = load->computing + c->overlap_tax * load->messages;

    if (load->computing <= 0)
        return 1;
    if (!c->profile)
        return taxed / load->computing;
    if (c->overlaps)
        return fmax(taxed, c->host_s * load->kernels) / load->computing;
    return fmax(1,
                (c->host_s * load->kernels - load->messages) / load->computing);
}

static void set_slowdown(struct mtlm_cost *cost)
{
    const struct mtlm_program *program = cost->program;
    struct load load[2] = {{0}};

    for (int c = 0; c < program->config.layout.virtual_stages; c++) {
        add_load(cost, &program->stage[c].forward, &load[0]);
        add_load(cost, &program->stage[c].backward, &load[1]);
        add_load(cost, &program->stage[c].weight, &load[1]);
    }
    for (int i = 0; i < 2; i++)
        cost->slowdown[i] = slowdown_by(cost->cluster, &load[i]);
}

static void set_groups(struct mtlm_cost *cost)
{
    for (int g = 0; g < MTLM_GROUP_COUNT; g++)
        cost->group[g] = mtlm_message_cost_group(
            cost->cluster, &cost->program->config.layout, g);
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

static void set_times(struct mtlm_cost *cost)
{
    const struct mtlm_cluster *cluster = cost->cluster;
    const struct mtlm_program *program = cost->program;
    const struct mtlm_program_config *config = &program->config;
    const double seconds[] = {cluster->forward_s, cluster->backward_s,
                              cluster->weight_s};
    double flops[3] = {0}, layers = 0;

    for (int c = 0; c < config->layout.virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];

        layers += stage->n_layers;
        for (int i = 0; i < stage->forward.n; i++)
            cost->forward[stage->forward.node[i]->call.kind] = true;
        flops[0] += layer_flops(&stage->forward, MTLM_PHASE_FORWARD, NULL);
        /* With recomputation, the backward list holds W nodes too. */
        flops[2] += layer_flops(&stage->weight, MTLM_PHASE_WEIGHT, NULL)
                    + layer_flops(&stage->backward, MTLM_PHASE_WEIGHT, NULL);
    }
    for (int c = 0; c < config->layout.virtual_stages; c++)
        flops[1] += layer_flops(&program->stage[c].backward,
                                MTLM_PHASE_BACKWARD, cost->forward);
    for (int i = 0; i < 3; i++)
        if (flops[i] > 0)
            cost->s_per_flop[i] = seconds[i] * layers
                                  * mtlm_layout_pipeline(&config->layout)
                                  / (config->model.num_layers * flops[i]);
}

struct mtlm_cost mtlm_cost_create(const struct mtlm_cluster *cluster,
                                  const struct mtlm_program *program)
{
    struct mtlm_cost cost = {
        .cluster = cluster, .program = program, .slowdown = {1, 1}};

    set_groups(&cost);
    if (cluster->timed)
        set_times(&cost);
    else if (cluster->overlap_tax > 0 || cluster->host_s > 0)
        set_slowdown(&cost);
    return cost;
}
