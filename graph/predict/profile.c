/* Profiles of published code: kernels by operation, features, order. */

#include "config.h"

#include <string.h>

#include "codelets/adam.h"
#include "codelets/attention/attention.h"
#include "codelets/bias_dropout_add.h"
#include "codelets/embedding.h"
#include "codelets/layernorm.h"
#include "codelets/linear.h"
#include "codelets/linear_gelu.h"
#include "codelets/position_dropout.h"
#include "codelets/xent.h"
#include "graph/predict/profile.h"

/* ---- kernels ---- */

/* Kernels that all years have, counted from the code of v1.0 and v2.6: reads
 * and writes of 2-byte elements.  x, y: the operand that the entry names.
 *
 *   layernorm               x, y; backward: dy and x twice, dx
 *   attention               y permuted; backward: y's gradient permuted, the
 *                           gradients of q, k and v joined
 *   products with a bias    y, to add the bias; backward: dy, to sum it
 *   output layer            19 for a logit (fp32: cast, maximum, difference,
 *                           exponential, sum, quotient), 7 for its gradient
 *   Adam                    62 bytes a parameter: unscale, norm, clip, step,
 *                           cast, clear */
#define SHARED_KERNELS                                                         \
    {MTLM_OP_LAYERNORM_FWD, LN_X, 2, 1}, {MTLM_OP_LAYERNORM_BWD, LNB_X, 5, 2}, \
        {MTLM_OP_LAYERNORM_BWD_ADD, LNB_X, 8, 3},                              \
        {MTLM_OP_LINEAR_BIAS_FWD, LINB_Y, 2, 2},                               \
        {MTLM_OP_LINEAR_FWD, LIN_Y, 0, 1},                                     \
        {MTLM_OP_GELU_LINEAR_FWD, GL_Y, 0, 1},                                 \
        {MTLM_OP_LINEAR_DGRAD, LIND_DX, 0, 1},                                 \
        {MTLM_OP_LINEAR_DGRAD_ADD, LIND_DX, 3, 2},                             \
        {MTLM_OP_LINEAR_WGRAD, LINW_X, 0, 1},                                  \
        {MTLM_OP_LINEAR_BIAS_WGRAD, LINW_DY, 1, 2},                            \
        {MTLM_OP_GELU_LINEAR_DGRAD, GLD_DPRE, 3, 2},                           \
        {MTLM_OP_EMBEDDING_FWD, EMB_Y, 4, 4},                                  \
        {MTLM_OP_EMBEDDING_WGRAD, EMBW_DWORD, 4, 4},                           \
        {MTLM_OP_POSITION_DROPOUT_FWD, PD_Y, 5.5, 2},                          \
        {MTLM_OP_POSITION_DROPOUT_BWD, PDB_DX, 3.5, 2},                        \
        {MTLM_OP_XENT_STATS, XS_LOGITS, 19, 7},                                \
        {MTLM_OP_XENT_BWD, XB_LOGITS, 7, 3}, {MTLM_OP_ADAM, ADAM_G, 31, 1},    \
    {                                                                          \
        MTLM_OP_ADAM_MASTER, ADAMM_G, 31, 1                                    \
    }

/* From 2020-09 on: bias, dropout and residual in one kernel, and bias and GELU.
 * A layer's forward takes 11 + 16 / t elements for each of s b h, its backward
 * 23 + 27 / t. */
static const struct mtlm_profile_kernels fused_kernels[] = {
    SHARED_KERNELS,
    {MTLM_OP_ATTENTION_FWD, ATT_Y, 2, 5},
    {MTLM_OP_ATTENTION_BWD, ATTB_Y, 2, 7},
    {MTLM_OP_ATTENTION_BWD, ATTB_DQKV, 2, 1},
    {MTLM_OP_LINEAR_GELU_FWD, LG_PRE, 2, 2},
    {MTLM_OP_BIAS_DROPOUT_ADD_FWD, BDA_X, 3.5, 1},
    {MTLM_OP_BIAS_DROPOUT_ADD_BWD, BDAB_DY, 3.5, 2},
};

/* Before: q, k and v copied into rows of heads, and a kernel for each of bias,
 * dropout, residual and GELU.  A layer's forward takes 19 + 30 / t, its
 * backward 23 + 33 / t. */
static const struct mtlm_profile_kernels single_kernels[] = {
    SHARED_KERNELS,
    {MTLM_OP_ATTENTION_FWD, ATT_Y, 2, 7},
    {MTLM_OP_ATTENTION_FWD, ATT_QKV, 2, 3},
    {MTLM_OP_ATTENTION_BWD, ATTB_Y, 2, 9},
    {MTLM_OP_ATTENTION_BWD, ATTB_DQKV, 4, 4},
    {MTLM_OP_LINEAR_GELU_FWD, LG_PRE, 4, 3},
    {MTLM_OP_BIAS_DROPOUT_ADD_FWD, BDA_X, 7.5, 3},
    {MTLM_OP_BIAS_DROPOUT_ADD_BWD, BDAB_DY, 3.5, 2},
};

/* v2.5 with all of its fusions off (arXiv 2104.04473, section 5.8): the heads
 * of 2021, and a kernel for each step between the products. */
static const struct mtlm_profile_kernels unfused_kernels[] = {
    SHARED_KERNELS,
    {MTLM_OP_ATTENTION_FWD, ATT_Y, 2, 9},
    {MTLM_OP_ATTENTION_BWD, ATTB_Y, 2, 11},
    {MTLM_OP_ATTENTION_BWD, ATTB_DQKV, 2, 1},
    {MTLM_OP_LINEAR_GELU_FWD, LG_PRE, 4, 3},
    {MTLM_OP_BIAS_DROPOUT_ADD_FWD, BDA_X, 7.5, 3},
    {MTLM_OP_BIAS_DROPOUT_ADD_BWD, BDAB_DY, 3.5, 2},
};

enum {
    FUSED_KERNELS = sizeof(fused_kernels) / sizeof(fused_kernels[0]),
    UNFUSED_KERNELS = sizeof(unfused_kernels) / sizeof(unfused_kernels[0]),
    SINGLE_KERNELS = sizeof(single_kernels) / sizeof(single_kernels[0])
};

/* ---- profiles ---- */

/* Bytes for a score, forward: softmax of the lower triangle 3, dropout 5
 * (fused); mask 4, softmax 4, dropout 5 (v1.0); scale 4 and mask 8 in kernels
 * of their own (2019).  Backward: dropout 5, softmax 4 or 6, mask 4, scale 4.
 * 2021-unfused has scores of 4 bytes between two casts (fused_softmax.py of
 * v2.5, its other branch): casts 6 and 6, scale 8, mask 8, softmax 8, dropout
 * 5; backward: the same, softmax 12.
 *
 * 2019: launch_s is fitted to one row, 1.2 billion parameters on 8 GPUs at
 * batch 8 (2.21 s / 2.98; arXiv 1909.08053, table 8). */
static const struct mtlm_profile profiles[] = {
    {.name = "2019",
     .source = "Megatron-LM of 2019 (arXiv 1909.08053)",
     .kernels = single_kernels,
     .n_kernels = SINGLE_KERNELS,
     .score_bytes = {21, 19},
     .launch_s = 97e-6,
     .accumulates = true,
     .overlaps_alone = true},
    {.name = "2019-unoverlapped",
     .source = "Megatron-LM of 2019, gradients reduced after B (arXiv "
               "1909.08053)",
     .kernels = single_kernels,
     .n_kernels = SINGLE_KERNELS,
     .score_bytes = {21, 19},
     .launch_s = 97e-6,
     .accumulates = true},
    {.name = "v1.0",
     .source = "Megatron-LM v1.0 (2020-04)",
     .kernels = single_kernels,
     .n_kernels = SINGLE_KERNELS,
     .score_bytes = {13, 15},
     .accumulates = true,
     .overlaps_alone = true},
    {.name = "2020-09",
     .source = "Megatron-LM before interleaving (figures of 2021-01)",
     .kernels = fused_kernels,
     .n_kernels = FUSED_KERNELS,
     .score_bytes = {8, 9},
     .accumulates = true,
     .pipelines = true},
    {.name = "2021",
     .source = "Megatron-LM v2.5 (arXiv 2104.04473)",
     .kernels = fused_kernels,
     .n_kernels = FUSED_KERNELS,
     .score_bytes = {8, 9},
     .accumulates = true,
     .bf16 = true,
     .pipelines = true,
     .interleaves = true,
     .scatters = true,
     .overlaps_alone = true},
    {.name = "2021-unscattered",
     .source = "Megatron-LM v2.5 without scatter/gather (arXiv 2104.04473)",
     .kernels = fused_kernels,
     .n_kernels = FUSED_KERNELS,
     .score_bytes = {8, 9},
     .accumulates = true,
     .bf16 = true,
     .pipelines = true,
     .interleaves = true,
     .overlaps_alone = true},
    {.name = "2021-unfused",
     .source = "Megatron-LM v2.5 without fused kernels (arXiv 2104.04473)",
     .kernels = unfused_kernels,
     .n_kernels = UNFUSED_KERNELS,
     .score_bytes = {41, 45},
     .accumulates = true,
     .bf16 = true,
     .pipelines = true,
     .interleaves = true,
     .scatters = true,
     .overlaps_alone = true},
    {.name = "deepspeed",
     .source = "Megatron-DeepSpeed of 2022 (arXiv 2312.12391)",
     .kernels = fused_kernels,
     .n_kernels = FUSED_KERNELS,
     .score_bytes = {8, 9},
     .accumulates = true,
     .bf16 = true,
     .pipelines = true,
     .scatters = true},
    {.name = "2022",
     .source = "Megatron-LM of 2022 (arXiv 2205.05198)",
     .kernels = fused_kernels,
     .n_kernels = FUSED_KERNELS,
     .score_bytes = {8, 9},
     .bf16 = true,
     .pipelines = true,
     .interleaves = true,
     .scatters = true,
     .splits_rows = true,
     .hides_backward = true,
     .overlaps_alone = true},
};

const struct mtlm_profile *mtlm_profile_find(const char *name)
{
    static const char prefix[] = "megatron-";

    if (strncmp(name, prefix, strlen(prefix)) == 0)
        name += strlen(prefix);
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
        if (strcmp(profiles[i].name, name) == 0)
            return &profiles[i];
    return NULL;
}

void mtlm_profile_apply(const struct mtlm_profile *profile,
                        struct mtlm_program_config *config)
{
    config->profile = profile;
    config->row_parts = 1;
    config->recompute_whole = true;
}

/* Returns what of the pipeline the code never had, or NULL. */
static const char *lacks_order(const struct mtlm_profile *profile,
                               const struct mtlm_program_config *config)
{
    const char *schedule = config->schedule->name;
    const bool interleaved = strcmp(schedule, "interleaved") == 0;

    if (config->layout.pp > 1 && !profile->pipelines)
        return "a pipeline";
    if (strcmp(schedule, "1f1b") != 0 && !interleaved)
        return "a schedule but 1f1b and interleaved";
    if (config->layout.virtual_stages > 1 && !profile->interleaves)
        return "virtual stages";
    return NULL;
}

const char *mtlm_profile_lacks(const struct mtlm_profile *profile,
                               const struct mtlm_program_config *config,
                               bool our_order)
{
    const char *order = our_order ? NULL : lacks_order(profile, config);

    if (order)
        return order;
    if (config->value == MTLM_BF16 && !profile->bf16)
        return "bf16";
    if (config->sequence_parallel && !profile->splits_rows)
        return "sequence parallelism";
    if (config->recompute.granularity == MTLM_RECOMPUTE_SELECTIVE
        && !profile->splits_rows)
        return "selective recomputation";
    if (config->distributed_optimizer)
        return "a distributed optimizer";
    if (config->offload != MTLM_OFFLOAD_NONE)
        return "moments on a disk";
    if (config->attention_backend == MTLM_ATTENTION_FLASH
        || config->attention_backend == MTLM_ATTENTION_FUSED)
        return "attention that keeps no scores";
    if (config->layout.workers > 1)
        return "several workers on a device";
    return NULL;
}

/* ---- costs ---- */

static double score_bytes(const struct mtlm_profile *profile,
                          const struct mtlm_call *call)
{
    const bool forward = call->kind == MTLM_OP_ATTENTION_FWD;
    const bool backward = call->kind == MTLM_OP_ATTENTION_BWD
                          || call->kind == MTLM_OP_ATTENTION_BWD_ADD;
    const int64_t *dim = call->shape[ATT_QKV].dim; /* rows, samples, columns */

    if (!forward && !backward)
        return 0;
    return profile->score_bytes[backward] * call->attr.attention.heads * dim[0]
           * dim[0] * dim[1];
}

/* A weight gradient that is added by a kernel of its own: two reads and a write
 * of each element. */
static double add_bytes(const struct mtlm_profile *profile,
                        const struct mtlm_call *call, double value_bytes)
{
    if (!profile->accumulates
        || (call->kind != MTLM_OP_LINEAR_WGRAD
            && call->kind != MTLM_OP_LINEAR_BIAS_WGRAD))
        return 0;
    return 3 * value_bytes * mtlm_shape_elems(&call->shape[LINW_DWEIGHT]);
}

/* Returns the bytes of an element of the entries of kind. */
static double element_bytes(enum mtlm_op_kind kind, double value_bytes)
{
    switch (kind) {
    case MTLM_OP_XENT_STATS:
    case MTLM_OP_XENT_BWD:
    case MTLM_OP_ADAM:
    case MTLM_OP_ADAM_MASTER:
        return 2;
    default:
        return value_bytes;
    }
}

double mtlm_profile_bytes(const struct mtlm_profile *profile,
                          const struct mtlm_node *node, double value_bytes,
                          int *kernels)
{
    const double element = element_bytes(node->call.kind, value_bytes);
    double bytes = 0;

    *kernels = 0;
    for (int i = 0; i < profile->n_kernels; i++) {
        const struct mtlm_profile_kernels *k = &profile->kernels[i];

        if (k->kind != node->call.kind)
            continue;
        *kernels += k->kernels;
        for (const struct mtlm_call *c = &node->call; c; c = c->next)
            bytes +=
                element * k->elements * mtlm_shape_elems(&c->shape[k->operand]);
    }
    return bytes + score_bytes(profile, &node->call)
           + add_bytes(profile, &node->call, value_bytes);
}

bool mtlm_profile_chains(const struct mtlm_profile *profile,
                         const struct mtlm_program *program,
                         const struct mtlm_item *item)
{
    const struct mtlm_layout *layout = &program->config.layout;

    switch (item->node->lane) {
    case MTLM_LANE_PP:
        return item->node->call.kind == MTLM_OP_SEND;
    case MTLM_LANE_DP:
        return layout->pp > 1 || !profile->overlaps_alone;
    default:
        return true;
    }
}

bool mtlm_profile_hides(const struct mtlm_profile *profile,
                        const struct mtlm_node *node)
{
    return profile->hides_backward && node->lane == MTLM_LANE_TP
           && (node->phase == MTLM_PHASE_WEIGHT
               || (node->phase == MTLM_PHASE_BACKWARD && !node->recomputes));
}
