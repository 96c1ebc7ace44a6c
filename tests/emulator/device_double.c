/* A stand-in for the CUDA runtime: GPUs on a machine without one, for tests.
 *
 * Built as a library of libcudart's name and symbol versions and put before it
 * by LD_LIBRARY_PATH, so that programs linked with the real one - StarPU's CUDA
 * build, mtlm-dag - see devices:
 *
 *   MTLM_DOUBLE_GPUS=2           how many; without it there is none
 *   MTLM_DOUBLE_MIB=256          memory of each
 *   MTLM_DOUBLE_TAKEN_MIB=100    of that held by somebody else
 *   MTLM_DOUBLE_DRIVER=12040     version of the driver; 0: there is no driver
 *   MTLM_DOUBLE_CAPABILITY=80    compute capability, of 9.0 without it
 *   MTLM_DOUBLE_OWN=1            the only one whose threads may pin memory
 *   MTLM_DOUBLE_DELAY_US=300     what is enqueued takes that long
 *
 * Here the devices; memory_double.c has their memory, stream_double.c what is
 * enqueued, kernel_double.c what it takes for a program to be loaded.
 *
 * Memory of a device is the host's, in a range of addresses of its own: a copy
 * that names the wrong side, or device memory that was never taken or is free
 * again, ends the program with a sentence.  Where time passes, a copy is made
 * when it is due: who does not wait reads what was there before.  Kernels are
 * functions that the caller runs (tests/emulator/), at once: of what they read
 * everything enqueued on the stream before must have been done, which
 * mtlm_double_kernel() sees to.
 *
 * Meanings of calls: CUDA Runtime API manual, 13.0. */

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "tests/emulator/device_double.h"
#include "tests/emulator/double_private.h"

static _Thread_local int current;
static _Thread_local cudaError_t last_error;

/* ---- what the environment says ---- */

long mtlm_double_setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? atol(text) : otherwise;
}

int mtlm_double_gpus(void)
{
    const long n = mtlm_double_setting("MTLM_DOUBLE_GPUS", 0);

    return n < MAX_GPUS ? n : MAX_GPUS;
}

size_t mtlm_double_bytes(void)
{
    return mtlm_double_setting("MTLM_DOUBLE_MIB", 1024) * MIB;
}

static int capability(void)
{
    return mtlm_double_setting("MTLM_DOUBLE_CAPABILITY", 90);
}

__attribute__((noreturn, format(printf, 1, 2))) void mtlm_double_wrong(
    const char *fmt, ...)
{
    va_list args;

    fputs("device double: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

cudaError_t mtlm_double_give(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

/* ---- devices ---- */

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = mtlm_double_setting("MTLM_DOUBLE_DRIVER", CUDART_VERSION);
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool eager;

static void ask(void)
{
    const char *text = getenv("CUDA_MODULE_LOADING");

    eager = text && strcmp(text, "EAGER") == 0;
}

bool mtlm_double_eager(void)
{
    pthread_once(&asked, ask);
    return eager;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    pthread_once(&asked, ask);
    *count = 0;
    /* Within a major version any driver will do. */
    if (mtlm_double_setting("MTLM_DOUBLE_DRIVER", CUDART_VERSION) / 1000
        < CUDART_VERSION / 1000)
        return mtlm_double_give(cudaErrorInsufficientDriver);
    if (mtlm_double_gpus() == 0)
        return mtlm_double_give(cudaErrorNoDevice);
    *count = mtlm_double_gpus();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= mtlm_double_gpus())
        return mtlm_double_give(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

int mtlm_double_current(void)
{
    return current;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    if (device < 0 || device >= mtlm_double_gpus())
        return mtlm_double_give(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof(*prop));
    snprintf(prop->name, sizeof(prop->name), "Device double %d", device);
    memcpy(prop->uuid.bytes, prop->name, sizeof(prop->uuid.bytes));
    prop->totalGlobalMem = mtlm_double_bytes();
    prop->major = capability() / 10;
    prop->minor = capability() % 10;
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = 1024;
    prop->multiProcessorCount = 4;
    prop->concurrentKernels = 1;
    prop->unifiedAddressing = 1;
    prop->canMapHostMemory = 1;
    prop->asyncEngineCount = 2;
    prop->pciBusID = 1 + device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device)
{
    if (device < 0 || device >= mtlm_double_gpus())
        return mtlm_double_give(cudaErrorInvalidDevice);
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
        *value = capability() / 10;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = capability() % 10;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = 4;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = 227 * 1024;
        break;
    default:
        *value = 0;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    if (device < 0 || device >= mtlm_double_gpus())
        return mtlm_double_give(cudaErrorInvalidDevice);
    snprintf(text, bytes, "0000:%02x:00.0", 1 + device);
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void) flags;
    return peer < mtlm_double_gpus() ? cudaSuccess
                                     : mtlm_double_give(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceReset(void)
{
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaSuccess ? "cudaSuccess" : "an error of CUDA";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorNotReady:
        return "device not ready";
    default:
        return "an error that the device double has no words for";
    }
}
