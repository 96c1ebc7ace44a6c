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
#include <time.h>

#include <cuda_runtime_api.h>

#include "tests/emulator/device_double.h"

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

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? atol(text) : otherwise;
}

static int gpus(void)
{
    const long n = setting("MTLM_DOUBLE_GPUS", 0);

    return n < MAX_GPUS ? n : MAX_GPUS;
}

static size_t memory_bytes(void)
{
    return setting("MTLM_DOUBLE_MIB", 1024) * MIB;
}

static size_t taken_bytes(void)
{
    return setting("MTLM_DOUBLE_TAKEN_MIB", 0) * MIB;
}

static int64_t delay_ns(void)
{
    return 1000 * setting("MTLM_DOUBLE_DELAY_US", 0);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    const struct timespec t = {ns / 1000000000, ns % 1000000000};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

__attribute__((noreturn, format(printf, 1, 2))) static void wrong(
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

static cudaError_t give(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

/* ---- devices ---- */

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = setting("MTLM_DOUBLE_DRIVER", CUDART_VERSION);
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
    if (setting("MTLM_DOUBLE_DRIVER", CUDART_VERSION) / 1000
        < CUDART_VERSION / 1000)
        return give(cudaErrorInsufficientDriver);
    if (gpus() == 0)
        return give(cudaErrorNoDevice);
    *count = gpus();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= gpus())
        return give(cudaErrorInvalidDevice);
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
    if (device < 0 || device >= gpus())
        return give(cudaErrorInvalidDevice);
    memset(prop, 0, sizeof(*prop));
    snprintf(prop->name, sizeof(prop->name), "Device double %d", device);
    memcpy(prop->uuid.bytes, prop->name, sizeof(prop->uuid.bytes));
    prop->totalGlobalMem = memory_bytes();
    prop->major = 9;
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
    if (device < 0 || device >= gpus())
        return give(cudaErrorInvalidDevice);
    *value = attribute == cudaDevAttrComputeCapabilityMajor         ? 9
             : attribute == cudaDevAttrMultiProcessorCount          ? 4
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 227 * 1024
                                                                    : 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    if (device < 0 || device >= gpus())
        return give(cudaErrorInvalidDevice);
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
    return peer < gpus() ? cudaSuccess : give(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceReset(void)
{
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    if (current >= gpus())
        return give(cudaErrorNoDevice);
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
static int device_of(const void *p)
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
        wrong("more than %d blocks of memory", MAX_BLOCKS);
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
    if (current >= gpus())
        return give(cudaErrorNoDevice);
    pthread_mutex_lock(&mutex);
    if (bytes)
        error = take(p, bytes);
    pthread_mutex_unlock(&mutex);
    return give(error);
}

cudaError_t cudaFree(void *p)
{
    struct block *block;

    if (!p)
        return current < gpus() ? cudaSuccess : give(cudaErrorNoDevice);
    cudaDeviceSynchronize();
    pthread_mutex_lock(&mutex);
    block = block_of(p);
    if (!block || block->at != (uintptr_t) p)
        wrong("cudaFree of what cudaMalloc did not give");
    munmap(p, block->bytes);
    used[device_of(p)] -= (block->bytes + PAGE - 1) / PAGE * PAGE;
    block->bytes = 0;
    pthread_mutex_unlock(&mutex);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    (void) flags;
    *p = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    return *p ? cudaSuccess : give(cudaErrorMemoryAllocation);
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
    if (device_of(p) >= 0)
        wrong("cudaHostRegister of device memory");
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
    const int device = device_of(p);

    *attributes = (struct cudaPointerAttributes){
        .type = device < 0 ? cudaMemoryTypeUnregistered : cudaMemoryTypeDevice,
        .device = device < 0 ? 0 : device,
        .devicePointer = device < 0 ? NULL : (void *) p,
        .hostPointer = device < 0 ? (void *) p : NULL};
    return cudaSuccess;
}

static void check_range(const void *p, size_t bytes, const char *what)
{
    const struct block *block;

    if (device_of(p) < 0)
        return;
    pthread_mutex_lock(&mutex);
    block = block_of(p);
    if (!block || (uintptr_t) p + bytes > block->at + block->bytes)
        wrong("%s touches %zu bytes of device memory that was not taken", what,
              bytes);
    pthread_mutex_unlock(&mutex);
}

static void check_side(const void *p, bool on_device, const char *what)
{
    if ((device_of(p) >= 0) != on_device)
        wrong("%s: that address is on %s", what,
              on_device ? "the host" : "a device");
}

static void check_copy(const void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind)
{
    if (kind != cudaMemcpyDefault) {
        check_side(to,
                   kind == cudaMemcpyHostToDevice
                       || kind == cudaMemcpyDeviceToDevice,
                   "a copy's target");
        check_side(from,
                   kind == cudaMemcpyDeviceToHost
                       || kind == cudaMemcpyDeviceToDevice,
                   "a copy's source");
    }
    check_range(to, bytes, "a copy");
    check_range(from, bytes, "a copy");
}

/* ---- streams ---- */

/* What a stream has yet to do; byte: of a memset, where from is NULL. */
struct work {
    struct work *next;
    int64_t due_ns;
    void *to;
    const void *from;
    int byte;
    size_t bytes, to_pitch, from_pitch;
    size_t rows;
    cudaEvent_t event; /* recorded then; or NULL */
    int64_t ticket;
    cudaHostFn_t call;            /* or this is called */
    bool (*done)(void *argument); /* or it ends when this says so */
    void *argument;
};

struct CUstream_st {
    struct CUstream_st *next;
    struct work *first, **last;
    int64_t due_ns; /* of the last one */
};

struct CUevent_st {
    int64_t recorded, happened; /* tickets */
    int64_t happened_ns;
};

static pthread_mutex_t streams_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct CUstream_st null_stream, *streams = &null_stream;

static struct CUstream_st *stream_of(cudaStream_t stream)
{
    const bool is_null =
        !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    struct CUstream_st *s = is_null ? &null_stream : stream;

    if (!s->last)
        s->last = &s->first;
    return s;
}

static void perform(const struct work *w)
{
    for (size_t i = 0; i < w->rows; i++)
        if (w->from)
            memmove((char *) w->to + i * w->to_pitch,
                    (const char *) w->from + i * w->from_pitch, w->bytes);
        else
            memset((char *) w->to + i * w->to_pitch, w->byte, w->bytes);
    if (w->event && w->event->happened < w->ticket) {
        w->event->happened = w->ticket;
        w->event->happened_ns = w->due_ns;
    }
}

/* Does what is due; with wait all of it.  Under the mutex. */
static void advance(struct CUstream_st *s, bool wait)
{
    while (s->first && (wait || s->first->due_ns <= now_ns())) {
        struct work *w = s->first;

        if (w->due_ns > now_ns())
            sleep_until(w->due_ns);
        if (w->done && !w->done(w->argument)) {
            if (!wait)
                return;
            pthread_mutex_unlock(&streams_mutex);
            sleep_until(now_ns() + 20000);
            pthread_mutex_lock(&streams_mutex);
            continue;
        }
        perform(w);
        s->first = w->next;
        if (!s->first)
            s->last = &s->first;
        if (w->call) {
            pthread_mutex_unlock(&streams_mutex);
            w->call(w->argument);
            pthread_mutex_lock(&streams_mutex);
        }
        free(w);
    }
}

static void advance_all(bool wait)
{
    for (struct CUstream_st *s = streams; s; s = s->next)
        advance(stream_of(s), wait);
}

static void enqueue(cudaStream_t stream, struct work what)
{
    struct work *w = malloc(sizeof(*w));
    struct CUstream_st *s;

    pthread_mutex_lock(&streams_mutex);
    s = stream_of(stream);
    *w = what;
    w->next = NULL;
    w->due_ns = now_ns();
    if (s->due_ns > w->due_ns)
        w->due_ns = s->due_ns;
    if (!w->event)
        w->due_ns += delay_ns();
    s->due_ns = w->due_ns;
    *s->last = w;
    s->last = &w->next;
    if (w->event)
        w->ticket = ++w->event->recorded;
    advance(s, false);
    pthread_mutex_unlock(&streams_mutex);
}

void mtlm_double_enqueue(cudaStream_t stream, bool (*done)(void *argument),
                         void *argument)
{
    enqueue(stream, (struct work){.done = done, .argument = argument});
}

static void drain(cudaStream_t stream)
{
    pthread_mutex_lock(&streams_mutex);
    advance(stream_of(stream), true);
    pthread_mutex_unlock(&streams_mutex);
}

void mtlm_double_kernel(cudaStream_t stream)
{
    drain(stream);
    pthread_mutex_lock(&streams_mutex);
    stream_of(stream)->due_ns = now_ns() + delay_ns();
    pthread_mutex_unlock(&streams_mutex);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    struct CUstream_st *s = calloc(1, sizeof(*s));

    (void) flags;
    if (current >= gpus())
        return give(cudaErrorNoDevice);
    pthread_mutex_lock(&streams_mutex);
    s->next = null_stream.next;
    null_stream.next = s;
    pthread_mutex_unlock(&streams_mutex);
    *stream = s;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                         int priority)
{
    (void) priority;
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    struct CUstream_st **p = &streams;

    pthread_mutex_lock(&streams_mutex);
    advance(stream_of(stream), true);
    while (*p && *p != stream)
        p = &(*p)->next;
    if (!*p || stream == &null_stream)
        wrong("cudaStreamDestroy of what is no stream");
    *p = stream->next;
    pthread_mutex_unlock(&streams_mutex);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    int64_t due_ns;

    pthread_mutex_lock(&streams_mutex);
    advance(stream_of(stream), true);
    due_ns = stream_of(stream)->due_ns;
    pthread_mutex_unlock(&streams_mutex);
    if (due_ns > now_ns())
        sleep_until(due_ns);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    bool busy;

    pthread_mutex_lock(&streams_mutex);
    advance(stream_of(stream), false);
    busy = stream_of(stream)->first || stream_of(stream)->due_ns > now_ns();
    pthread_mutex_unlock(&streams_mutex);
    return busy ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    pthread_mutex_lock(&streams_mutex);
    advance_all(true);
    pthread_mutex_unlock(&streams_mutex);
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call,
                               void *argument)
{
    enqueue(stream, (struct work){.call = call, .argument = argument});
    return cudaSuccess;
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void) flags;
    if (current >= gpus())
        return give(cudaErrorNoDevice);
    *event = calloc(1, sizeof(**event));
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

static bool has_happened(cudaEvent_t event)
{
    return event->happened >= event->recorded;
}

/* Until it has: what others enqueue meanwhile does not matter. */
static void await(cudaEvent_t event)
{
    pthread_mutex_lock(&streams_mutex);
    advance_all(false);
    while (!has_happened(event)) {
        pthread_mutex_unlock(&streams_mutex);
        sleep_until(now_ns() + 10000);
        pthread_mutex_lock(&streams_mutex);
        advance_all(false);
    }
    pthread_mutex_unlock(&streams_mutex);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    await(event);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    enqueue(stream, (struct work){.event = event});
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    bool done;

    pthread_mutex_lock(&streams_mutex);
    advance_all(false);
    done = has_happened(event);
    pthread_mutex_unlock(&streams_mutex);
    return done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    await(event);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = 1e-6 * (to->happened_ns - from->happened_ns);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags)
{
    (void) stream, (void) flags;
    await(event); /* later than it would: the caller waits too */
    return cudaSuccess;
}

/* ---- copies ---- */

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    check_copy(to, from, bytes, kind);
    enqueue(stream,
            (struct work){.to = to, .from = from, .bytes = bytes, .rows = 1});
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind)
{
    cudaMemcpyAsync(to, from, bytes, kind, NULL);
    return cudaStreamSynchronize(NULL);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
                                int from_device, size_t bytes,
                                cudaStream_t stream)
{
    if (device_of(to) != to_device || device_of(from) != from_device)
        wrong("a copy from device %d to %d has addresses of %d and %d",
              from_device, to_device, device_of(from), device_of(to));
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from,
                           int from_device, size_t bytes)
{
    cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, NULL);
    return cudaStreamSynchronize(NULL);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t bytes, size_t rows,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (rows == 0)
        return cudaSuccess;
    check_copy(to, from, bytes, kind);
    check_range((char *) to + (rows - 1) * to_pitch, bytes, "a copy");
    check_range((const char *) from + (rows - 1) * from_pitch, bytes, "a copy");
    enqueue(stream, (struct work){.to = to,
                                  .from = from,
                                  .bytes = bytes,
                                  .to_pitch = to_pitch,
                                  .from_pitch = from_pitch,
                                  .rows = rows});
    return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from,
                         size_t from_pitch, size_t bytes, size_t rows,
                         enum cudaMemcpyKind kind)
{
    cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, rows, kind, NULL);
    return cudaStreamSynchronize(NULL);
}

/* Nothing of ours makes such a copy. */
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p,
                                  cudaStream_t stream)
{
    (void) p, (void) stream;
    return give(cudaErrorNotSupported);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    return cudaMemcpy3DPeerAsync(p, NULL);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes,
                            cudaStream_t stream)
{
    check_side(to, true, "cudaMemset");
    check_range(to, bytes, "cudaMemset");
    enqueue(stream,
            (struct work){.to = to, .byte = byte, .bytes = bytes, .rows = 1});
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int byte, size_t bytes)
{
    cudaMemsetAsync(to, byte, bytes, NULL);
    return cudaStreamSynchronize(NULL);
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
    wrong("a kernel that nvcc compiled; tests/emulator/mtlm-dag runs them");
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
