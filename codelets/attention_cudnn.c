/* Built only with cuDNN. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "codelets/attention.h"
#include "codelets/attention_cudnn.h"
#include "codelets/attention_graph.h"
#include "runtime/error.h"
#include "runtime/philox.h"

/* Seed and offset lie at the start of the workspace, then what backward needs
 * for itself, then what the library asks for. */
enum { SEED_BYTES = 256, ALIGNMENT = 256 };

/* One shape; all that is kept of it, on one GPU. */
struct plan {
    struct mtlm_attention_graph of;
    cublasLtHandle_t worker; /* stands for it */
    bool ready;
    struct mtlm_cudnn_graph fwd_graph, bwd_graph;
    struct mtlm_cudnn_plan fwd, bwd;
};

/* What a thread that drives GPUs keeps: a model has one or two shapes. */
static _Thread_local struct {
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t gpu;
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

    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void make_plan(struct plan *plan, const struct mtlm_cudnn *lib,
                      const struct mtlm_device *device)
{
    const size_t taken = SEED_BYTES + sums_bytes(&plan->of);
    const size_t left =
        taken < device->workspace_bytes ? device->workspace_bytes - taken : 0;

    mtlm_cudnn_graph_start(&plan->fwd_graph, lib);
    mtlm_cudnn_graph_start(&plan->bwd_graph, lib);
    mtlm_attention_graph_fwd(&plan->fwd_graph, &plan->of);
    mtlm_attention_graph_bwd(&plan->bwd_graph, &plan->of);
    plan->ready =
        taken <= device->workspace_bytes
        && mtlm_cudnn_plan(&plan->fwd_graph, mine.gpu, left, &plan->fwd)
        && mtlm_cudnn_plan(&plan->bwd_graph, mine.gpu, left, &plan->bwd);
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

static bool is_asked_for(const struct mtlm_call *call)
{
    const int64_t *dim = call->shape[ATT_QKV].dim;
    const int64_t d = dim[2] / 3 / call->attr.attention.heads;
    const enum mtlm_attention_backend backend = call->attr.attention.backend;

    return call->value != MTLM_REAL
           && (backend == MTLM_ATTENTION_AUTO
               || backend == MTLM_ATTENTION_FUSED)
           && call->attr.attention.first_query == 0
           && dim[0] == call->attr.attention.seq_length && d % 8 == 0
           && call->attr.attention.dropout.p < 1;
}

/* NULL: our own kernels are to be taken. */
static struct plan *plan_of(const struct mtlm_call *call,
                            const struct mtlm_context *context)
{
    const struct mtlm_cudnn *lib = is_asked_for(call) ? mtlm_cudnn() : NULL;
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

    if (!lib)
        return NULL;
    start(lib);
    plan = plan_for(lib, &of, context->device);
    return plan->ready ? plan : NULL;
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

/* qkv or its gradient: head 0's, one after the other. */
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

    mtlm_philox(
        dropout->seed,
        mtlm_stream_dropout(context->sample, dropout->layer, dropout->site),
        call->attr.attention.first_head, word);
    /* Of 63 bits: the library's is signed. */
    return (word[0] | (uint64_t) word[1] << 32) >> 1;
}

/* What forward and backward have in common. */
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
    mtlm_attention_seed(seed, seed_of(call, context), 0,
                        context->device->stream);
    give(t, MTLM_ATTG_SEED, seed);
    give(t, MTLM_ATTG_OFFSET, seed + 1);
    give(t, MTLM_ATTG_KEEP, &t->keep);
}

static void run(const struct tensors *t, const struct plan *plan,
                const struct mtlm_cudnn_plan *what,
                const struct mtlm_device *device)
{
    const struct mtlm_cudnn *lib = mtlm_cudnn();

    CHECK(lib->SetStream(mine.handle, device->stream));
    mtlm_cudnn_run(lib, mine.handle, what, t->n, t->number, t->data,
                   (char *) device->workspace + SEED_BYTES
                       + sums_bytes(&plan->of));
}

bool mtlm_attention_cudnn_fwd(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const struct plan *plan = plan_of(call, context);
    struct tensors t;

    if (!plan)
        return false;
    give_common(&t, plan, ptr, call, context);
    run(&t, plan, &plan->fwd, context->device);
    mtlm_attention_clear(ptr[ATT_Y], plan->of.heads * plan->of.d, ptr[ATT_LSE],
                         call, ptr[ATT_LENGTHS], context->device->stream);
    return true;
}

bool mtlm_attention_cudnn_bwd(void *const ptr[], const struct mtlm_call *call,
                              const struct mtlm_context *context)
{
    const struct plan *plan = plan_of(call, context);
    struct tensors t;

    _Static_assert((int) ATTB_LSE == (int) ATT_LSE,
                   "give_common() finds forward's operands in both");
    if (!plan)
        return false;
    give_common(&t, plan, ptr, call, context);
    give(&t, MTLM_ATTG_DY, ptr[ATTB_DY]);
    give_parts(&t, MTLM_ATTG_DQ, ptr[ATTB_DQKV], plan->of.d);
    give(&t, MTLM_ATTG_KEPT, &t.kept);
    give(&t, MTLM_ATTG_SUMS, (char *) context->device->workspace + SEED_BYTES);
    run(&t, plan, &plan->bwd, context->device);
    mtlm_attention_clear(ptr[ATTB_DQKV], 3 * plan->of.heads * plan->of.d, NULL,
                         call, ptr[ATTB_LENGTHS], context->device->stream);
    return true;
}
