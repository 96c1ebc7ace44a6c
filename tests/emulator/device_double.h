#ifndef MTLM_DEVICE_DOUBLE_H
#define MTLM_DEVICE_DOUBLE_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To be called before a kernel is run on the host: does all that the stream
 * still has to do.  The stream then counts as busy for as long as the double
 * takes for anything. */
void mtlm_double_kernel(cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_DEVICE_DOUBLE_H */
