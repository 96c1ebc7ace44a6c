/* Loads cuDNN and builds graphs of its operations.  Built only with cuDNN. */

#include "config.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "codelets/cudnn/cudnn_graph.h"
#include "runtime/machine/shared_library.h"

/* ---- the library ---- */

static struct mtlm_cudnn library;
static bool there;

static void load(void)
{
    static const struct mtlm_library_function function[] = {
#define FUNCTION(name) {"cudnn" #name, &library.name},
        MTLM_CUDNN_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };
    struct mtlm_error err; /* why cuDNN is not used */

    there =
        mtlm_shared_library_load("libcudnn.so.9", function,
                                 sizeof(function) / sizeof(function[0]), &err)
            == 0
        && library.GetVersion() >= 91100;
}

const struct mtlm_cudnn *mtlm_cudnn(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return there ? &library : NULL;
}

/* ---- descriptors ---- */

void mtlm_cudnn_graph_start(struct mtlm_cudnn_graph *graph,
                            const struct mtlm_cudnn *lib)
{
    memset(graph, 0, sizeof(*graph));
    graph->lib = lib;
    graph->status = CUDNN_STATUS_SUCCESS;
    graph->next_virtual = 1000;
}

void mtlm_cudnn_graph_free(struct mtlm_cudnn_graph *graph)
{
    while (graph->n_descriptors > 0)
        graph->lib->BackendDestroyDescriptor(
            graph->descriptor[--graph->n_descriptors]);
}

static void note(struct mtlm_cudnn_graph *graph, cudnnStatus_t status,
                 const char *what)
{
    if (graph->status == CUDNN_STATUS_SUCCESS
        && status != CUDNN_STATUS_SUCCESS) {
        graph->status = status;
        graph->failed = what;
    }
}

static cudnnBackendDescriptor_t create(struct mtlm_cudnn_graph *graph,
                                       cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made = NULL;

    if (graph->status != CUDNN_STATUS_SUCCESS)
        return NULL;
    assert(graph->n_descriptors < MTLM_CUDNN_DESCRIPTORS);
    note(graph, graph->lib->BackendCreateDescriptor(type, &made),
         "a descriptor");
    if (graph->status == CUDNN_STATUS_SUCCESS)
        graph->descriptor[graph->n_descriptors++] = made;
    return made;
}

static void set(struct mtlm_cudnn_graph *graph, cudnnBackendDescriptor_t of,
                cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
    if (graph->status == CUDNN_STATUS_SUCCESS)
        note(graph, graph->lib->BackendSetAttribute(of, name, type, n, value),
             "an attribute");
}

/* Sets an attribute to a descriptor; NULL leaves the attribute unset. */
static void set_descriptor(struct mtlm_cudnn_graph *graph,
                           cudnnBackendDescriptor_t of,
                           cudnnBackendAttributeName_t name,
                           cudnnBackendDescriptor_t value)
{
    if (value)
        set(graph, of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void finalize(struct mtlm_cudnn_graph *graph,
                     cudnnBackendDescriptor_t of, const char *what)
{
    if (graph->status == CUDNN_STATUS_SUCCESS)
        note(graph, graph->lib->BackendFinalize(of), what);
}

static void finalize_operation(struct mtlm_cudnn_graph *graph,
                               cudnnBackendDescriptor_t of, const char *what)
{
    finalize(graph, of, what);
    if (graph->status != CUDNN_STATUS_SUCCESS)
        return;
    assert(graph->n_operations < MTLM_CUDNN_OPERATIONS);
    graph->operation[graph->n_operations++] = of;
}

/* ---- tensors ---- */

static cudnnBackendDescriptor_t make_tensor(
    struct mtlm_cudnn_graph *graph, int64_t number, cudnnDataType_t type,
    const int64_t dim[4], const int64_t stride[4], bool by_value)
{
    const bool inside = number == 0;
    const int64_t alignment = 16;
    cudnnBackendDescriptor_t tensor =
        create(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR);

    if (inside)
        number = graph->next_virtual++;
    set(graph, tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1,
        &number);
    set(graph, tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
        &type);
    set(graph, tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
    set(graph, tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    set(graph, tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1,
        &alignment);
    if (inside)
        set(graph, tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
            &inside);
    if (by_value)
        set(graph, tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1,
            &by_value);
    finalize(graph, tensor, "a tensor");
    return tensor;
}

cudnnBackendDescriptor_t mtlm_cudnn_tensor(struct mtlm_cudnn_graph *graph,
                                           int64_t number, cudnnDataType_t type,
                                           const int64_t dim[4],
                                           const int64_t stride[4])
{
    return make_tensor(graph, number, type, dim, stride, false);
}

cudnnBackendDescriptor_t mtlm_cudnn_value(struct mtlm_cudnn_graph *graph,
                                          int64_t number)
{
    static const int64_t one[4] = {1, 1, 1, 1};

    return make_tensor(graph, number, CUDNN_DATA_FLOAT, one, one, true);
}

/* ---- operations ---- */

void mtlm_cudnn_pointwise(struct mtlm_cudnn_graph *graph,
                          cudnnPointwiseMode_t mode, cudnnDataType_t precision,
                          int64_t axis, cudnnBackendDescriptor_t x,
                          cudnnBackendDescriptor_t b,
                          cudnnBackendDescriptor_t t,
                          cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t how =
        create(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cudnnBackendDescriptor_t operation;

    set(graph, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
        &mode);
    set(graph, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
        &precision);
    if (mode == CUDNN_POINTWISE_GEN_INDEX)
        set(graph, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
    finalize(graph, how, "what is done by element");
    operation = create(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_descriptor(graph, operation,
                   CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    finalize_operation(graph, operation, "an operation by element");
}

void mtlm_cudnn_matmul(struct mtlm_cudnn_graph *graph,
                       cudnnBackendDescriptor_t a, cudnnBackendDescriptor_t b,
                       cudnnBackendDescriptor_t c, cudnnBackendDescriptor_t m,
                       cudnnBackendDescriptor_t n, cudnnBackendDescriptor_t k)
{
    const cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    const double padding = 0;
    cudnnBackendDescriptor_t how =
        create(graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    cudnnBackendDescriptor_t operation;

    set(graph, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
        &precision);
    if (m && n)
        set(graph, how, CUDNN_ATTR_MATMUL_PADDING_VALUE, CUDNN_TYPE_DOUBLE, 1,
            &padding);
    finalize(graph, how, "how a product is computed");
    operation = create(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    set_descriptor(graph, operation,
                   CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, m);
    set_descriptor(graph, operation,
                   CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, n);
    set_descriptor(graph, operation,
                   CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, k);
    finalize_operation(graph, operation, "a product");
}

void mtlm_cudnn_reduction(struct mtlm_cudnn_graph *graph,
                          cudnnReduceTensorOp_t operator,
                          cudnnBackendDescriptor_t x,
                          cudnnBackendDescriptor_t y)
{
    const cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t how =
        create(graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    cudnnBackendDescriptor_t operation;

    set(graph, how, CUDNN_ATTR_REDUCTION_OPERATOR,
        CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &operator);
    set(graph, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
        &precision);
    finalize(graph, how, "how a reduction is computed");
    operation = create(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    finalize_operation(graph, operation, "a reduction");
}

void mtlm_cudnn_bernoulli(struct mtlm_cudnn_graph *graph, double probability,
                          cudnnBackendDescriptor_t seed,
                          cudnnBackendDescriptor_t offset,
                          cudnnBackendDescriptor_t y)
{
    const cudnnRngDistribution_t distribution =
        CUDNN_RNG_DISTRIBUTION_BERNOULLI;
    cudnnBackendDescriptor_t how = create(graph, CUDNN_BACKEND_RNG_DESCRIPTOR);
    cudnnBackendDescriptor_t operation;

    set(graph, how, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, 1,
        &distribution);
    set(graph, how, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY,
        CUDNN_TYPE_DOUBLE, 1, &probability);
    finalize(graph, how, "how random numbers are distributed");
    operation = create(graph, CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_RNG_DESC, how);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_RNG_SEED, seed);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC,
                   offset);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_RNG_YDESC, y);
    finalize_operation(graph, operation, "random numbers");
}

void mtlm_cudnn_reshape(struct mtlm_cudnn_graph *graph,
                        cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t operation =
        create(graph, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    finalize_operation(graph, operation, "a reshape");
}
