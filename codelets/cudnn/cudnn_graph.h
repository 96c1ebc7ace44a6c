#ifndef MTLM_CUDNN_GRAPH_H
#define MTLM_CUDNN_GRAPH_H

#include <cudnn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Graphs of cuDNN's operations, by its backend interface.  The library is
 * loaded when it is first asked for: a machine without it runs the rest.
 *
 * A graph keeps the first error that it meets; what is called after it does
 * nothing, and mtlm_cudnn_plan() returns false. */

/* What is taken from the library; NULL where it is not there, or too old:
 * 9.11 masks scores with -infinity and knows kinds of GPUs. */
struct mtlm_cudnn {
    __typeof__(cudnnGetVersion) *GetVersion;
    __typeof__(cudnnGetErrorString) *GetErrorString;
    __typeof__(cudnnCreate) *Create;
    __typeof__(cudnnSetStream) *SetStream;
    __typeof__(cudnnBackendCreateDescriptor) *BackendCreateDescriptor;
    __typeof__(cudnnBackendDestroyDescriptor) *BackendDestroyDescriptor;
    __typeof__(cudnnBackendSetAttribute) *BackendSetAttribute;
    __typeof__(cudnnBackendGetAttribute) *BackendGetAttribute;
    __typeof__(cudnnBackendFinalize) *BackendFinalize;
    __typeof__(cudnnBackendExecute) *BackendExecute;
};

const struct mtlm_cudnn *mtlm_cudnn(void);

enum { MTLM_CUDNN_DESCRIPTORS = 224, MTLM_CUDNN_OPERATIONS = 48 };

struct mtlm_cudnn_graph {
    const struct mtlm_cudnn *lib;
    cudnnStatus_t status;
    const char *failed; /* what did, for messages */
    /* Private. */
    cudnnBackendDescriptor_t descriptor[MTLM_CUDNN_DESCRIPTORS];
    cudnnBackendDescriptor_t operation[MTLM_CUDNN_OPERATIONS];
    int n_descriptors, n_operations;
    int64_t next_virtual;
};

void mtlm_cudnn_graph_start(struct mtlm_cudnn_graph *graph,
                            const struct mtlm_cudnn *lib);

/* Frees it, with the plans that were made of it. */
void mtlm_cudnn_graph_free(struct mtlm_cudnn_graph *graph);

/* A tensor has a number below 1000, by which mtlm_cudnn_run() is given its
 * address, or 0: it exists inside of the graph only.  By value: the address is
 * the host's, of one element.  Strides count elements. */
cudnnBackendDescriptor_t mtlm_cudnn_tensor(struct mtlm_cudnn_graph *graph,
                                           int64_t number, cudnnDataType_t type,
                                           const int64_t dim[4],
                                           const int64_t stride[4]);
cudnnBackendDescriptor_t mtlm_cudnn_value(struct mtlm_cudnn_graph *graph,
                                          int64_t number);

/* y = mode(x, b, t), b and t being NULL where mode takes none; axis is that of
 * CUDNN_POINTWISE_GEN_INDEX. */
void mtlm_cudnn_pointwise(struct mtlm_cudnn_graph *graph,
                          cudnnPointwiseMode_t mode, cudnnDataType_t precision,
                          int64_t axis, cudnnBackendDescriptor_t x,
                          cudnnBackendDescriptor_t b,
                          cudnnBackendDescriptor_t t,
                          cudnnBackendDescriptor_t y);

/* c = a b, where the rows, columns and depth that count are those of m, n and k
 * (by sample; NULL: all). */
void mtlm_cudnn_matmul(struct mtlm_cudnn_graph *graph,
                       cudnnBackendDescriptor_t a, cudnnBackendDescriptor_t b,
                       cudnnBackendDescriptor_t c, cudnnBackendDescriptor_t m,
                       cudnnBackendDescriptor_t n, cudnnBackendDescriptor_t k);

void mtlm_cudnn_reduction(struct mtlm_cudnn_graph *graph,
                          cudnnReduceTensorOp_t operation,
                          cudnnBackendDescriptor_t x,
                          cudnnBackendDescriptor_t y);

/* y = 1 with that probability, else 0; seed and offset hold an int64 each. */
void mtlm_cudnn_bernoulli(struct mtlm_cudnn_graph *graph, double probability,
                          cudnnBackendDescriptor_t seed,
                          cudnnBackendDescriptor_t offset,
                          cudnnBackendDescriptor_t y);

/* y = x seen with the shape and the strides of y. */
void mtlm_cudnn_reshape(struct mtlm_cudnn_graph *graph,
                        cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y);

#endif /* MTLM_CUDNN_GRAPH_H */
