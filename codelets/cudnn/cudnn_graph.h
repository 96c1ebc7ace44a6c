#ifndef MTLM_CUDNN_GRAPH_H
#define MTLM_CUDNN_GRAPH_H

/* Graphs of cuDNN operations by its backend interface.  The library is loaded
 * at the first request; a machine without cuDNN runs the rest.
 *
 * A graph keeps its first error.  Later calls then do nothing, and
 * mtlm_cudnn_plan() returns false. */

#include <cudnn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions that the program calls, without cudnn in front. */
#define MTLM_CUDNN_FUNCTIONS(X)                                                \
    X(GetVersion)                                                              \
    X(GetErrorString)                                                          \
    X(Create)                                                                  \
    X(SetStream)                                                               \
    X(BackendCreateDescriptor)                                                 \
    X(BackendDestroyDescriptor)                                                \
    X(BackendSetAttribute)                                                     \
    X(BackendGetAttribute)                                                     \
    X(BackendFinalize)                                                         \
    X(BackendExecute)

struct mtlm_cudnn {
#define MTLM_CUDNN_FIELD(name) __typeof__(cudnn##name) *name;
    MTLM_CUDNN_FUNCTIONS(MTLM_CUDNN_FIELD)
#undef MTLM_CUDNN_FIELD
};

/* Returns the library, loaded once; NULL if cuDNN is missing or older than
 * 9.11.  9.11 masks scores with -infinity and knows kinds of GPUs. */
const struct mtlm_cudnn *mtlm_cudnn(void);

enum { MTLM_CUDNN_DESCRIPTORS = 224, MTLM_CUDNN_OPERATIONS = 48 };

struct mtlm_cudnn_graph {
    const struct mtlm_cudnn *lib;
    cudnnStatus_t status;
    const char *failed; /* what failed, for messages */
    /* Private. */
    cudnnBackendDescriptor_t descriptor[MTLM_CUDNN_DESCRIPTORS];
    cudnnBackendDescriptor_t operation[MTLM_CUDNN_OPERATIONS];
    int n_descriptors, n_operations;
    int64_t next_virtual;
};

/* Starts an empty graph; lib is borrowed. */
void mtlm_cudnn_graph_start(struct mtlm_cudnn_graph *graph,
                            const struct mtlm_cudnn *lib);

/* Frees the graph with its plans. */
void mtlm_cudnn_graph_free(struct mtlm_cudnn_graph *graph);

/* Adds a tensor and returns its descriptor, which the graph owns.  number <
 * 1000: mtlm_cudnn_run() takes its address under that number; 0: the tensor
 * exists inside the graph only.  Strides count elements. */
cudnnBackendDescriptor_t mtlm_cudnn_tensor(struct mtlm_cudnn_graph *graph,
                                           int64_t number, cudnnDataType_t type,
                                           const int64_t dim[4],
                                           const int64_t stride[4]);

/* Adds a float passed by value and returns its descriptor, which the graph
 * owns.  The address in mtlm_cudnn_run() is a host address of one element. */
cudnnBackendDescriptor_t mtlm_cudnn_value(struct mtlm_cudnn_graph *graph,
                                          int64_t number);

/* Adds y = mode(x, b, t); b and t are NULL if mode takes none.  axis: of
 * CUDNN_POINTWISE_GEN_INDEX. */
void mtlm_cudnn_pointwise(struct mtlm_cudnn_graph *graph,
                          cudnnPointwiseMode_t mode, cudnnDataType_t precision,
                          int64_t axis, cudnnBackendDescriptor_t x,
                          cudnnBackendDescriptor_t b,
                          cudnnBackendDescriptor_t t,
                          cudnnBackendDescriptor_t y);

/* Adds c = a b.  m, n, k: rows, columns and depth that count, per sample; NULL:
 * all. */
void mtlm_cudnn_matmul(struct mtlm_cudnn_graph *graph,
                       cudnnBackendDescriptor_t a, cudnnBackendDescriptor_t b,
                       cudnnBackendDescriptor_t c, cudnnBackendDescriptor_t m,
                       cudnnBackendDescriptor_t n, cudnnBackendDescriptor_t k);

/* Adds y = reduction of x by operation. */
void mtlm_cudnn_reduction(struct mtlm_cudnn_graph *graph,
                          cudnnReduceTensorOp_t operation,
                          cudnnBackendDescriptor_t x,
                          cudnnBackendDescriptor_t y);

/* Adds y = 1 with that probability, else 0.  seed and offset hold an int64
 * each. */
void mtlm_cudnn_bernoulli(struct mtlm_cudnn_graph *graph, double probability,
                          cudnnBackendDescriptor_t seed,
                          cudnnBackendDescriptor_t offset,
                          cudnnBackendDescriptor_t y);

/* Adds y = x with the shape and strides of y. */
void mtlm_cudnn_reshape(struct mtlm_cudnn_graph *graph,
                        cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t y);

#endif /* MTLM_CUDNN_GRAPH_H */
