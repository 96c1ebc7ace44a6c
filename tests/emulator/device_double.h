#ifndef MTLM_DEVICE_DOUBLE_H
#define MTLM_DEVICE_DOUBLE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To be called before a kernel is run on the host: does all that the stream
 * still has to do.  The stream then counts as busy for as long as the double
 * takes for anything. */
void mtlm_double_kernel(cudaStream_t stream);

/* Enqueues what ends when done(argument), asked whenever somebody looks at the
 * stream, says so: what comes behind it waits.  done() may be called by any
 * thread and calls nothing of CUDA. */
void mtlm_double_enqueue(cudaStream_t stream, bool (*done)(void *argument),
                         void *argument);

/* Whether CUDA was asked to load all kernels when it was first called. */
bool mtlm_double_eager(void);

/* How many ways and products cuBLASLt's double was asked for that have GELU or
 * its gradient as an epilogue; a bias' gradient. */
long mtlm_double_gelu_wanted(void);
long mtlm_double_bias_gradients_wanted(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_DEVICE_DOUBLE_H */
