/* Attention by cuDNN: plans per shape, kept per GPU, and their execution.
 * Built only with cuDNN. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "codelets/attention/attention.h"
#include "codelets/attention/attention_cudnn.h"
#include "codelets/attention/attention_fused.h"
#include "codelets/attention/attention_graph.h"
#include "codelets/cudnn/cudnn_plan.h"
#include "codelets/note.h"
#include "runtime/base/error.h"
#include "runtime/base/philox.h"
#include "runtime/base/round_up.h"
#include "runtime/base/units.h"

/* The worker's workspace begins with seed and offset, then MTLM_ATTG_SUMS.
 * cuDNN's backward needs much more (384 MiB for 16 samples of 12 heads and 1024
 * positions) and has a workspace of its own. */
enum { SEED_BYTES = 256, ALIGNMENT = 256 };

/* The plans of one shape on one GPU. */
struct plan {
    struct mtlm_attention_graph of;
    cublasLtHandle_t worker; /* identifies the GPU's worker */
    bool ready;
    struct mtlm_cudnn_graph fwd_graph, bwd_graph;
    struct mtlm_cudnn_plan fwd, bwd;
};

/* The state of a thread that drives GPUs.  A model has one or two shapes. */
static _Thread_local struct {
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t gpu;
    void *workspace; /* on the GPU, until the process ends */
    size_t workspace_bytes;
    struct plan *plan[16];
    int n, next;
} mine;

static void check(const struct mtlm_cudnn *lib, cudnnStatus_t status, int line)
{
    if (status != CUDNN_STATUS_SUCCESS)
        mtlm_fatal(__FILE__, line, "cuDNN: %s", lib->GetErrorString(status));
}
#define CHECK(expr) check(lib, expr, __LINE__)

static void start(const struct mtlm_cudnn *lib)
{
    if (mine.handle)
        return;
    CHECK(lib->Create(&mine.handle));
    CHECK(lib->BackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
                                       &mine.gpu));
    CHECK(lib->BackendSetAttribute(mine.gpu, CUDNN_ATTR_DEVICEPROP_HANDLE,
                                   CUDNN_TYPE_HANDLE, 1, &mine.handle));
    CHECK(lib->BackendFinalize(mine.gpu));
}

static size_t sums_bytes(const struct mtlm_attention_graph *of)
{
    const size_t bytes = of->samples * of->heads * of->rows * sizeof(float);

    return mtlm_round_up(bytes, ALIGNMENT);
}

/* Makes the workspace at least that large.  Returns false if the GPU has too
 * little memory left. */
static bool has_workspace(size_t bytes)
{
    void *workspace = NULL;

    if (bytes <= mine.workspace_bytes)
        return true;
    if (cudaMalloc(&workspace, bytes) != cudaSuccess) {
        cudaGetLastError(); /* else a later check reports the error */
        return false;
    }
    cudaFree(mine.workspace); /* waits for its users */
    mine.workspace = workspace;
    mine.workspace_bytes = bytes;
    return true;
}

static const char *why_not(const struct plan *plan, size_t taken, size_t most)
{
    if (taken > most)
        return "too many rows for the workspace";
    if (!plan->fwd.plan || !plan->bwd.plan)
        return "cuDNN has no way that gives the same bits each time, in 2 GiB";
    return "no memory left on the GPU for cuDNN's workspace";
}

static void make_plan(struct plan *plan, const struct mtlm_cudnn *lib,
                      const struct mtlm_device *device)
{
    const size_t taken = SEED_BYTES + sums_bytes(&plan->of);
    const size_t most = MTLM_ATTENTION_FUSED_BYTES;

    mtlm_cudnn_graph_start(&plan->fwd_graph, lib);
    mtlm_cudnn_graph_start(&plan->bwd_graph, lib);
    mtlm_attention_graph_fwd(&plan->fwd_graph, &plan->of);
    mtlm_attention_graph_bwd(&plan->bwd_graph, &plan->of);
    plan->ready =
        taken <= device->workspace_bytes
        && mtlm_cudnn_plan(&plan->fwd_graph, mine.gpu, most, &plan->fwd)
        && mtlm_cudnn_plan(&plan->bwd_graph, mine.gpu, most, &plan->bwd)
        && has_workspace(
            fmax(plan->fwd.workspace_bytes, plan->bwd.workspace_bytes));
    if (plan->ready)
        mtlm_note(MTLM_NOTE_ATTENTION, "cuDNN %zu, workspace %.1f MiB",
                  lib->GetVersion(), mine.workspace_bytes / MTLM_MIB);
    else
        mtlm_note(MTLM_NOTE_ATTENTION, "own kernels (%s)",
                  why_not(plan, taken, device->workspace_bytes));
}

static bool same(const struct plan *plan, const struct mtlm_attention_graph *of,
                 const struct mtlm_device *device)
{
    return plan->worker == device->blas && plan->of.samples == of->samples
           && plan->of.heads == of->heads && plan->of.rows == of->rows
           && plan->of.d == of->d && plan->of.type == of->type
           && plan->of.causal == of->causal && plan->of.dropout == of->dropout;
}

static struct plan *plan_for(const struct mtlm_cudnn *lib,
                             const struct mtlm_attention_graph *of,
                             const struct mtlm_device *device)
{
    const int size = sizeof(mine.plan) / sizeof(*mine.plan);
    struct plan *plan;

    for (int i = 0; i < mine.n; i++)
        if (same(mine.plan[i], of, device))
            return mine.plan[i];
    if (mine.n == size) {
        plan = mine.plan[mine.next];
        mtlm_cudnn_graph_free(&plan->fwd_graph);
        mtlm_cudnn_graph_free(&plan->bwd_graph);
    } else {
        plan = mine.plan[mine.n++] = mtlm_calloc(1, sizeof(*plan));
    }
    mine.next = (mine.next + 1) % size;
    plan->of = *of;
    plan->worker = device->blas;
    make_plan(plan, lib, device);
    return plan;
}

/* Returns the plans of the call's shape; NULL: our own kernels compute the
 * call. */
static struct plan *plan_of(const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const struct mtlm_cudnn *lib =
        mtlm_attention_fused_allowed(call) ? mtlm_cudnn() : NULL;
    const int64_t *dim = call->shape[ATT_QKV].dim;
    const int heads = call->attr.attention.heads;
    const struct mtlm_attention_graph of = {
        .samples = dim[1],
        .heads = heads,
        .rows = dim[0],
        .d = dim[2] / 3 / heads,
        .type =
            call->value == MTLM_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF,
        .causal = call->attr.attention.causal,
        .dropout = call->attr.attention.dropout.p};
    struct plan *plan;

    if (!lib) {
        mtlm_note(MTLM_NOTE_ATTENTION, "own kernels (%s)",
                  mtlm_attention_fused_allowed(call)
                      ? "no cuDNN 9.11"
                      : "by precision, shape, ALiBi or "
                        "--attention-backend");
        return NULL;
    }
    start(lib);
    plan = plan_for(lib, &of, context->device);
    return plan->ready ? plan : NULL;
}

/* The graphs declare this alignment; all tensors of a program have it. */
static bool is_aligned(const void *data)
{
    return (uintptr_t) data % 16 == 0;
}

bool mtlm_attention_cudnn_takes(const struct mtlm_call *call,
                                const struct mtlm_context *context)
{
    return plan_of(call, context) != NULL;
}

/* The tensors of a call, by number. */
struct tensors {
    int n;
    int64_t number[MTLM_ATTG_COUNT];
    void *data[MTLM_ATTG_COUNT];
    float scale, unseen, keep, kept;
};

static void give(struct tensors *t, int64_t number, const void *data)
{
    assert(t->n < MTLM_ATTG_COUNT);
    t->number[t->n] = number;
    t->data[t->n++] = (void *) data;
}

/* Gives q, k and v of head 0 of qkv, or their gradients. */
static void give_parts(struct tensors *t, int64_t first, void *qkv, int64_t d)
{
    for (int i = 0; i < 3; i++)
        give(t, first + i, (uint16_t *) qkv + i * d);
}

static uint64_t seed_of(const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const struct mtlm_dropout *dropout = &call->attr.attention.dropout;
    uint32_t word[4];

    mtlm_philox(dropout->seed,
                mtlm_philox_dropout_stream(context->sample, dropout->layer,
                                           dropout->site),
                call->attr.attention.first_head, word);
    /* 63 bits: cuDNN's seed is signed. */
    return (word[0] | (uint64_t) word[1] << 32) >> 1;
}

/* Gives the tensors that forward and backward share. */
static void give_common(struct tensors *t, const struct plan *plan,
                        void *const ptr[], const struct mtlm_call *call,
                        const struct mtlm_context *context)
{
    const double p = plan->of.dropout;
    int64_t *seed = context->device->workspace;

    *t = (struct tensors){.scale = 1 / sqrtf(plan->of.d),
                          .unseen = -INFINITY,
                          .keep = 1 / (1 - p),
                          .kept = 1 - p};
    give_parts(t, MTLM_ATTG_Q, ptr[ATT_QKV], plan->of.d);
    give(t, MTLM_ATTG_LENGTHS_Q, ptr[ATT_LENGTHS]);
    give(t, MTLM_ATTG_LENGTHS_K, ptr[ATT_LENGTHS]);
    give(t, MTLM_ATTG_Y, ptr[ATT_Y]);
    give(t, MTLM_ATTG_LSE, ptr[ATT_LSE]);
    give(t, MTLM_ATTG_SCALE, &t->scale);
    give(t, MTLM_ATTG_PADDED, &t->unseen);
    if (plan->of.causal)
        give(t, MTLM_ATTG_UNSEEN, &t->unseen);
    if (p == 0)
        return;
    mtlm_attention_cudnn_seed(seed, seed_of(call, context), 0,
                              context->device->stream);
    give(t, MTLM_ATTG_SEED, seed);
    give(t, MTLM_ATTG_OFFSET, seed + 1);
    give(t, MTLM_ATTG_KEEP, &t->keep);
}

static void run(const struct tensors *t, const struct mtlm_cudnn_plan *what,
                const struct mtlm_device *device)
{
    const struct mtlm_cudnn *lib = mtlm_cudnn();

    CHECK(lib->SetStream(mine.handle, device->stream));
    mtlm_cudnn_run(lib, mine.handle, what, t->n, t->number, t->data,
                   mine.workspace);
}

bool mtlm_attention_cudnn_fwd(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const struct plan *plan = plan_of(call, context);
    struct tensors t;

    if (!plan || !is_aligned(ptr[ATT_QKV]) || !is_aligned(ptr[ATT_Y]))
        return false;
    give_common(&t, plan, ptr, call, context);
    run(&t, &plan->fwd, context->device);
    mtlm_attention_cudnn_clear(ptr[ATT_Y], plan->of.heads * plan->of.d,
                               ptr[ATT_LSE], call, ptr[ATT_LENGTHS],
                               context->device->stream);
    return true;
}

bool mtlm_attention_cudnn_bwd(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const struct plan *plan = plan_of(call, context);
    struct tensors t;

    _Static_assert((int) ATTB_LSE == (int) ATT_LSE,
                   "give_common() finds forward's operands in both");
    if (!plan || !is_aligned(ptr[ATTB_QKV]) || !is_aligned(ptr[ATTB_Y])
        || !is_aligned(ptr[ATTB_DY]) || !is_aligned(ptr[ATTB_DQKV]))
        return false;
    give_common(&t, plan, ptr, call, context);
    give(&t, MTLM_ATTG_DY, ptr[ATTB_DY]);
    give_parts(&t, MTLM_ATTG_DQ, ptr[ATTB_DQKV], plan->of.d);
    give(&t, MTLM_ATTG_KEPT, &t.kept);
    give(&t, MTLM_ATTG_SUMS, (char *) context->device->workspace + SEED_BYTES);
    run(&t, &plan->bwd, context->device);
    mtlm_attention_cudnn_clear(ptr[ATTB_DQKV], 3 * plan->of.heads * plan->of.d,
                               NULL, call, ptr[ATTB_LENGTHS],
                               context->device->stream);
    return true;
}
