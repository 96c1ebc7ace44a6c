/* Chooses how cuDNN computes a graph, and runs the choice.  Built only with
 * cuDNN. */

#include "config.h"

#include "codelets/cudnn/cudnn_plan.h"
#include "runtime/base/error.h"

enum { PROPOSALS = MTLM_CUDNN_PROPOSALS, NOTES = 32 };

static cudnnBackendDescriptor_t made(struct mtlm_cudnn_graph *graph,
                                     cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t descriptor;

    if (graph->n_descriptors == MTLM_CUDNN_DESCRIPTORS
        || graph->lib->BackendCreateDescriptor(type, &descriptor)
               != CUDNN_STATUS_SUCCESS)
        return NULL;
    graph->descriptor[graph->n_descriptors++] = descriptor;
    return descriptor;
}

static bool set(const struct mtlm_cudnn_graph *graph,
                cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
    return graph->lib->BackendSetAttribute(of, name, type, n, value)
           == CUDNN_STATUS_SUCCESS;
}

static bool finalized(struct mtlm_cudnn_graph *graph,
                      cudnnBackendDescriptor_t of, const char *what)
{
    const cudnnStatus_t status = graph->lib->BackendFinalize(of);

    if (status == CUDNN_STATUS_SUCCESS)
        return true;
    graph->status = status;
    graph->failed = what;
    return false;
}

static cudnnBackendDescriptor_t whole_graph(struct mtlm_cudnn_graph *graph)
{
    cudnnBackendDescriptor_t whole =
        made(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);

    return whole
                   && set(graph, whole, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, graph->n_operations,
                          graph->operation)
                   && finalized(graph, whole, "the graph")
               ? whole
               : NULL;
}

/* Writes the configurations that cuDNN proposes, best first, and returns their
 * number. */
static int64_t proposals(struct mtlm_cudnn_graph *graph,
                         cudnnBackendDescriptor_t gpu,
                         cudnnBackendDescriptor_t whole,
                         cudnnBackendDescriptor_t config[PROPOSALS])
{
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t heuristic =
        made(graph, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t n = 0;

    for (int i = 0; i < PROPOSALS; i++) {
        config[i] = made(graph, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        if (!config[i])
            return 0;
    }
    return heuristic
                   && set(graph, heuristic,
                          CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &whole)
                   && set(graph, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE,
                          CUDNN_TYPE_HEUR_MODE, 1, &mode)
                   && set(graph, heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &gpu)
                   && finalized(graph, heuristic, "the heuristic")
                   && graph->lib->BackendGetAttribute(
                          heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR, PROPOSALS, &n, config)
                          == CUDNN_STATUS_SUCCESS
               ? n
               : 0;
}

/* Returns whether cuDNN does not mark the configuration as nondeterministic.
 * cuDNN 9.19 marks no configuration of attention, not even of a graph that adds
 * up dQ in any order.  Equal bits therefore depend on the form of the graph in
 * attention_graph.c. */
static bool is_deterministic(struct mtlm_cudnn_graph *graph,
                             cudnnBackendDescriptor_t config)
{
    cudnnBackendDescriptor_t engine =
        made(graph, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendNumericalNote_t note[NOTES];
    int64_t n = 0;

    if (!engine
        || graph->lib->BackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                           CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                                           &engine)
               != CUDNN_STATUS_SUCCESS
        || graph->lib->BackendGetAttribute(
               engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
               CUDNN_TYPE_NUMERICAL_NOTE, NOTES, &n, note)
               != CUDNN_STATUS_SUCCESS)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (note[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
            return false;
    return true;
}

int mtlm_cudnn_propose(struct mtlm_cudnn_graph *graph,
                       cudnnBackendDescriptor_t gpu,
                       cudnnBackendDescriptor_t config[PROPOSALS])
{
    cudnnBackendDescriptor_t whole;
    int64_t n;
    int left = 0;

    if (graph->status != CUDNN_STATUS_SUCCESS)
        return 0;
    whole = whole_graph(graph);
    n = whole ? proposals(graph, gpu, whole, config) : 0;
    for (int64_t i = 0; i < n; i++)
        if (is_deterministic(graph, config[i]))
            config[left++] = config[i];
    return left;
}

static bool plan_of(struct mtlm_cudnn_graph *graph,
                    cudnnBackendDescriptor_t gpu,
                    cudnnBackendDescriptor_t config,
                    struct mtlm_cudnn_plan *plan)
{
    int64_t bytes = 0, n = 0;

    plan->plan = made(graph, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (!plan->plan
        || !set(graph, plan->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &gpu)
        || !set(graph, plan->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config)
        || !finalized(graph, plan->plan, "the plan")
        || graph->lib->BackendGetAttribute(
               plan->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
               CUDNN_TYPE_INT64, 1, &n, &bytes)
               != CUDNN_STATUS_SUCCESS)
        return false;
    plan->workspace_bytes = bytes;
    return true;
}

bool mtlm_cudnn_plan(struct mtlm_cudnn_graph *graph,
                     cudnnBackendDescriptor_t gpu, size_t workspace_bytes,
                     struct mtlm_cudnn_plan *plan)
{
    cudnnBackendDescriptor_t config[PROPOSALS];
    const int n = mtlm_cudnn_propose(graph, gpu, config);

    for (int i = 0; i < n; i++)
        if (plan_of(graph, gpu, config[i], plan)
            && plan->workspace_bytes <= workspace_bytes)
            return true;
    plan->plan = NULL;
    return false;
}

static void check(const struct mtlm_cudnn *lib, cudnnStatus_t status, int line)
{
    if (status != CUDNN_STATUS_SUCCESS)
        mtlm_fatal(__FILE__, line, "cuDNN: %s", lib->GetErrorString(status));
}

void mtlm_cudnn_run(const struct mtlm_cudnn *lib, cudnnHandle_t handle,
                    const struct mtlm_cudnn_plan *plan, int n,
                    const int64_t number[], void *const data[], void *workspace)
{
    cudnnBackendDescriptor_t pack;

#define CHECK(expr) check(lib, expr, __LINE__)
    CHECK(lib->BackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                                       &pack));
    CHECK(lib->BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                   CUDNN_TYPE_INT64, n, number));
    CHECK(lib->BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                   CUDNN_TYPE_VOID_PTR, n, data));
    CHECK(lib->BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                   CUDNN_TYPE_VOID_PTR, 1, &workspace));
    CHECK(lib->BackendFinalize(pack));
    CHECK(lib->BackendExecute(handle, plan->plan, pack));
    CHECK(lib->BackendDestroyDescriptor(pack));
#undef CHECK
}
