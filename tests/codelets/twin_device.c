/* The device that twins run on: a GPU, or the emulator. */

#include "config.h"

#if HAVE_CUDA

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/memory.h"
#include "runtime/machine/cublaslt.h"
#include "tests/codelets/twin_device.h"

struct mtlm_device twin_device = {.workspace_bytes = 32 << 20,
                                  .capability = 90};

#if MTLM_EMULATED

const char *twin_start(void)
{
    twin_device.workspace = mtlm_calloc(1, twin_device.workspace_bytes);
    twin_device.blas = twin_device.workspace; /* for the double: any but NULL */
    return NULL;
}

void twin_stop(void)
{
    free(twin_device.workspace);
}

/* In place of the library: the double, which is a part of this program. */
const struct mtlm_cublaslt *mtlm_cublaslt(void)
{
    static const struct mtlm_cublaslt functions = {
#define FUNCTION(name) cublasLt##name,
        MTLM_CUBLASLT_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };

    return &functions;
}

/* For cublaslt_double.c, which asks no device: no stream has anything to do,
 * and all memory counts as a device's. */
void mtlm_double_kernel(cudaStream_t stream)
{
    (void) stream;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *p)
{
    (void) p;
    attributes->type = cudaMemoryTypeDevice;
    return cudaSuccess;
}

void twin_memory_new(struct twin_memory *memory, int64_t n, size_t size,
                     bool aligned)
{
    memory->guarded = guarded_new(n * size, size, aligned);
    memory->data = memory->guarded.data;
}

void twin_memory_free(struct twin_memory *memory)
{
    assert_true(guarded_free(&memory->guarded));
}

void twin_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

void twin_wait(void)
{
}

#else

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(error));
}

/* Without a driver CUDA says that it is too old. */
static const char *why_not(void)
{
    int gpus = 0, driver = 0;
    const cudaError_t rc = cudaGetDeviceCount(&gpus);

    if (rc == cudaSuccess && gpus > 0)
        return NULL;
    return rc == cudaSuccess || rc == cudaErrorNoDevice
                   || cudaDriverGetVersion(&driver) != cudaSuccess
                   || driver == 0
               ? "no GPU"
               : cudaGetErrorString(rc);
}

const char *twin_start(void)
{
    const char *why = why_not();
    int minor;

    if (why)
        return why;
    check(cudaDeviceGetAttribute(&twin_device.capability,
                                 cudaDevAttrComputeCapabilityMajor, 0));
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    twin_device.capability = 10 * twin_device.capability + minor;
    check(cudaStreamCreate(&twin_device.stream));
    check(cudaMalloc(&twin_device.workspace, twin_device.workspace_bytes));
    assert_int_equal(mtlm_cublaslt()->Create(&twin_device.blas),
                     CUBLAS_STATUS_SUCCESS);
    return NULL;
}

void twin_stop(void)
{
    mtlm_cublaslt()->Destroy(twin_device.blas);
    check(cudaFree(twin_device.workspace));
    check(cudaStreamDestroy(twin_device.stream));
}

/* Not aligned: by one element. */
void twin_memory_new(struct twin_memory *memory, int64_t n, size_t size,
                     bool aligned)
{
    const size_t bytes = (n + !aligned) * size;

    check(cudaMalloc(&memory->allocated, bytes));
    check(cudaMemset(memory->allocated, 0xff, bytes));
    memory->data = (char *) memory->allocated + (aligned ? 0 : size);
}

void twin_memory_free(struct twin_memory *memory)
{
    check(cudaFree(memory->allocated));
}

void twin_copy(void *to, const void *from, size_t bytes)
{
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

void twin_wait(void)
{
    check(cudaGetLastError());
    check(cudaStreamSynchronize(twin_device.stream));
}

#endif

#endif /* HAVE_CUDA */
