/* The device double's memory: whose an address is, and whether it was taken. */

#define _GNU_SOURCE

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cuda_runtime_api.h>

#include "runtime/base/round_up.h"
#include "tests/emulator/double_private.h"

enum { MAX_BLOCKS = 1 << 16 };

#define PAGE 4096
/* Device d holds the addresses from BASE + d * SPAN. */
#define BASE ((uintptr_t) 0x200000000000)
#define SPAN ((uintptr_t) 1 << 40)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct block {
    uintptr_t at;
    size_t bytes;
} blocks[MAX_BLOCKS]; /* of all devices; bytes 0: free */
static int n_blocks;
static uintptr_t next_at[MAX_GPUS]; /* addresses are not used again */
static size_t used[MAX_GPUS];

static size_t taken_bytes(void)
{
    return mtlm_double_setting("MTLM_DOUBLE_TAKEN_MIB", 0) * MIB;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    const int current = mtlm_double_current();

    if (current >= mtlm_double_gpus())
        return mtlm_double_give(cudaErrorNoDevice);
    pthread_mutex_lock(&mutex);
    *total = mtlm_double_bytes();
    *free_bytes = *total - taken_bytes() - used[current];
    pthread_mutex_unlock(&mutex);
    return cudaSuccess;
}

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
    const size_t whole = mtlm_round_up(bytes, PAGE);
    const int current = mtlm_double_current();
    struct block *block;
    void *got;

    if (used[current] + taken_bytes() + whole > mtlm_double_bytes())
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
    if (mtlm_double_current() >= mtlm_double_gpus())
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
        return mtlm_double_current() < mtlm_double_gpus()
                   ? cudaSuccess
                   : mtlm_double_give(cudaErrorNoDevice);
    cudaDeviceSynchronize();
    pthread_mutex_lock(&mutex);
    block = block_of(p);
    if (!block || block->at != (uintptr_t) p)
        mtlm_double_wrong("cudaFree of what cudaMalloc did not give");
    munmap(p, block->bytes);
    used[mtlm_double_device_of(p)] -= mtlm_round_up(block->bytes, PAGE);
    block->bytes = 0;
    pthread_mutex_unlock(&mutex);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    const long own = mtlm_double_setting("MTLM_DOUBLE_OWN", -1);

    (void) flags;
    /* It makes a context on the thread's device where there is none yet. */
    if (own >= 0 && mtlm_double_current() != own)
        mtlm_double_wrong("cudaHostAlloc in a thread of another GPU");
    *p = aligned_alloc(PAGE, mtlm_round_up(bytes, PAGE));
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
