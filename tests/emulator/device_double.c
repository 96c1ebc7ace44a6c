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
 *   MTLM_DOUBLE_DELAY_US=300     what is enqueued takes that long
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

#define _GNU_SOURCE

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cuda_runtime_api.h>

#include "tests/emulator/device_double.h"
#include "tests/emulator/double_private.h"

enum { MAX_GPUS = 16, MAX_BLOCKS = 1 << 16 };

#define PAGE 4096
#define MIB ((size_t) 1 << 20)
/* Device d holds the addresses from BASE + d * SPAN. */
#define BASE ((uintptr_t) 0x200000000000)
#define SPAN ((uintptr_t) 1 << 40)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current;
static _Thread_local cudaError_t last_error;

static struct block {
    uintptr_t at;
    size_t bytes;
} blocks[MAX_BLOCKS]; /* of all devices; bytes 0: free */
static int n_blocks;
static uintptr_t next_at[MAX_GPUS]; /* addresses are not used again */
static size_t used[MAX_GPUS];

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

static size_t memory_bytes(void)
{
    return mtlm_double_setting("MTLM_DOUBLE_MIB", 1024) * MIB;
}

static int capability(void)
{
    return mtlm_double_setting("MTLM_DOUBLE_CAPABILITY", 90);
}

static size_t taken_bytes(void)
{
    return mtlm_double_setting("MTLM_DOUBLE_TAKEN_MIB", 0) * MIB;
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

cudaError_t cudaGetDeviceCount(int *count)
{
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
    prop->totalGlobalMem = memory_bytes();
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
    *value = attribute == cudaDevAttrComputeCapabilityMajor ? capability() / 10
             : attribute == cudaDevAttrComputeCapabilityMinor
                 ? capability() % 10
             : attribute == cudaDevAttrMultiProcessorCount          ? 4
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 227 * 1024
                                                                    : 0;
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

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    if (current >= mtlm_double_gpus())
        return mtlm_double_give(cudaErrorNoDevice);
    pthread_mutex_lock(&mutex);
    *total = memory_bytes();
    *free_bytes = *total - taken_bytes() - used[current];
    pthread_mutex_unlock(&mutex);
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

/* ---- memory ---- */

/* The device that holds an address, or -1. */
int mtlm_double_device_of(const void *p)
{
    const uintptr_t at = (uintptr_t) p;

    return at < BASE || at >= BASE + MAX_GPUS * SPAN
               ? -1
               : (int) ((at - BASE) / SPAN);
}

static struct block *block_of(const void *p)
{
    const uintptr_t at = (uintptr_t) p;

    for (int i = 0; i < n_blocks; i++)
        if (blocks[i].bytes && at >= blocks[i].at
            && at < blocks[i].at + blocks[i].bytes)
            return &blocks[i];
    return NULL;
}

static struct block *new_block(void)
{
    for (int i = 0; i < n_blocks; i++)
        if (!blocks[i].bytes)
            return &blocks[i];
    if (n_blocks == MAX_BLOCKS)
        mtlm_double_wrong("more than %d blocks of memory", MAX_BLOCKS);
    return &blocks[n_blocks++];
}

static cudaError_t take(void **p, size_t bytes)
{
    const size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    struct block *block;
    void *got;

    if (used[current] + taken_bytes() + whole > memory_bytes())
        return cudaErrorMemoryAllocation;
    if (!next_at[current])
        next_at[current] = BASE + current * SPAN;
    got = mmap((void *) next_at[current], whole, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    memset(got, 0xff, bytes); /* as numbers: not a number */
    block = new_block();
    *block = (struct block){(uintptr_t) got, bytes};
    /* Beyond its end nothing may be touched. */
    next_at[current] += whole + PAGE;
    used[current] += whole;
    *p = got;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    cudaError_t error = cudaSuccess;

    *p = NULL;
    if (current >= mtlm_double_gpus())
        return mtlm_double_give(cudaErrorNoDevice);
    pthread_mutex_lock(&mutex);
    if (bytes)
        error = take(p, bytes);
    pthread_mutex_unlock(&mutex);
    return mtlm_double_give(error);
}

cudaError_t cudaFree(void *p)
{
    struct block *block;

    if (!p)
        return current < mtlm_double_gpus()
                   ? cudaSuccess
                   : mtlm_double_give(cudaErrorNoDevice);
    cudaDeviceSynchronize();
    pthread_mutex_lock(&mutex);
    block = block_of(p);
    if (!block || block->at != (uintptr_t) p)
        mtlm_double_wrong("cudaFree of what cudaMalloc did not give");
    munmap(p, block->bytes);
    used[mtlm_double_device_of(p)] -= (block->bytes + PAGE - 1) / PAGE * PAGE;
    block->bytes = 0;
    pthread_mutex_unlock(&mutex);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    (void) flags;
    *p = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    return *p ? cudaSuccess : mtlm_double_give(cudaErrorMemoryAllocation);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return cudaHostAlloc(p, bytes, 0);
}

cudaError_t cudaFreeHost(void *p)
{
    free(p);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
    (void) bytes, (void) flags;
    if (mtlm_double_device_of(p) >= 0)
        mtlm_double_wrong("cudaHostRegister of device memory");
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p)
{
    (void) p;
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void) flags;
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *p)
{
    const int device = mtlm_double_device_of(p);

    *attributes = (struct cudaPointerAttributes){
        .type = device < 0 ? cudaMemoryTypeUnregistered : cudaMemoryTypeDevice,
        .device = device < 0 ? 0 : device,
        .devicePointer = device < 0 ? NULL : (void *) p,
        .hostPointer = device < 0 ? (void *) p : NULL};
    return cudaSuccess;
}

void mtlm_double_range(const void *p, size_t bytes, const char *what)
{
    const struct block *block;

    if (mtlm_double_device_of(p) < 0)
        return;
    pthread_mutex_lock(&mutex);
    block = block_of(p);
    if (!block || (uintptr_t) p + bytes > block->at + block->bytes)
        mtlm_double_wrong(
            "%s touches %zu bytes of device memory that was not taken", what,
            bytes);
    pthread_mutex_unlock(&mutex);
}

void mtlm_double_side(const void *p, bool on_device, const char *what)
{
    if ((mtlm_double_device_of(p) >= 0) != on_device)
        mtlm_double_wrong("%s: that address is on %s", what,
                          on_device ? "the host" : "a device");
}

void mtlm_double_copy(const void *to, const void *from, size_t bytes,
                      enum cudaMemcpyKind kind)
{
    if (kind != cudaMemcpyDefault) {
        mtlm_double_side(to,
                         kind == cudaMemcpyHostToDevice
                             || kind == cudaMemcpyDeviceToDevice,
                         "a copy's target");
        mtlm_double_side(from,
                         kind == cudaMemcpyDeviceToHost
                             || kind == cudaMemcpyDeviceToDevice,
                         "a copy's source");
    }
    mtlm_double_range(to, bytes, "a copy");
    mtlm_double_range(from, bytes, "a copy");
}

/* ---- kernels that nvcc compiled ---- */

/* A program holds them; the double cannot run them. */
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device,
                            const char *name, int limit, void *thread,
                            void *block, void *dim, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device,
                       const char *name, int external, size_t size,
                       int constant, int global);
unsigned __cudaPushCallConfiguration(void);
cudaError_t __cudaPopCallConfiguration(void);
cudaError_t __cudaGetKernel(void);
cudaError_t __cudaLaunchKernel(void);

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;

    handle = binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void) handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void) handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device,
                            const char *name, int limit, void *thread,
                            void *block, void *dim, void *grid, int *warp)
{
    (void) handle, (void) host, (void) device, (void) name, (void) limit;
    (void) thread, (void) block, (void) dim, (void) grid, (void) warp;
}

void __cudaRegisterVar(void **handle, char *host, char *device,
                       const char *name, int external, size_t size,
                       int constant, int global)
{
    (void) handle, (void) host, (void) device, (void) name, (void) external;
    (void) size, (void) constant, (void) global;
}

__attribute__((noreturn)) static void no_kernels(void)
{
    mtlm_double_wrong(
        "a kernel that nvcc compiled; tests/emulator/mtlm-dag runs them");
}

unsigned __cudaPushCallConfiguration(void)
{
    no_kernels();
}

cudaError_t __cudaPopCallConfiguration(void)
{
    no_kernels();
}

cudaError_t __cudaGetKernel(void)
{
    no_kernels();
}

cudaError_t __cudaLaunchKernel(void)
{
    no_kernels();
}
