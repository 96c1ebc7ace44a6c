/* The device double's streams, events and copies: see device_double.c. */

#define _GNU_SOURCE

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "tests/emulator/device_double.h"
#include "tests/emulator/double_private.h"

static int64_t delay_ns(void)
{
    return 1000 * mtlm_double_setting("MTLM_DOUBLE_DELAY_US", 0);
}

static void sleep_until(int64_t ns)
{
    const struct timespec t = {ns / 1000000000, ns % 1000000000};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
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
static struct CUstream_st null_stream, *streams = &null_stream, *destroyed;

static struct CUstream_st *stream_of(cudaStream_t stream)
{
    const bool is_null =
        !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    struct CUstream_st *s = is_null ? &null_stream : streams;

    while (s && !is_null && s != stream)
        s = s->next;
    if (!s)
        mtlm_double_wrong("a stream that was destroyed");
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
    while (s->first && (wait || s->first->due_ns <= mtlm_now_ns())) {
        struct work *w = s->first;

        if (w->due_ns > mtlm_now_ns())
            sleep_until(w->due_ns);
        if (w->done && !w->done(w->argument)) {
            if (!wait)
                return;
            pthread_mutex_unlock(&streams_mutex);
            sleep_until(mtlm_now_ns() + 20000);
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
    w->due_ns = mtlm_now_ns();
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
    stream_of(stream)->due_ns = mtlm_now_ns() + delay_ns();
    pthread_mutex_unlock(&streams_mutex);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    struct CUstream_st *s = calloc(1, sizeof(*s));

    (void) flags;
    if (mtlm_double_gpus() == 0)
        return mtlm_double_give(cudaErrorNoDevice);
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
        mtlm_double_wrong("cudaStreamDestroy of what is no stream");
    *p = stream->next;
    /* The next stream must have another address: see stream_of(). */
    stream->next = destroyed;
    destroyed = stream;
    pthread_mutex_unlock(&streams_mutex);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    int64_t due_ns;

    pthread_mutex_lock(&streams_mutex);
    advance(stream_of(stream), true);
    due_ns = stream_of(stream)->due_ns;
    pthread_mutex_unlock(&streams_mutex);
    if (due_ns > mtlm_now_ns())
        sleep_until(due_ns);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    bool busy;

    pthread_mutex_lock(&streams_mutex);
    advance(stream_of(stream), false);
    busy =
        stream_of(stream)->first || stream_of(stream)->due_ns > mtlm_now_ns();
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
    if (mtlm_double_gpus() == 0)
        return mtlm_double_give(cudaErrorNoDevice);
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
        sleep_until(mtlm_now_ns() + 10000);
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
    mtlm_double_copy(to, from, bytes, kind);
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
    if (mtlm_double_device_of(to) != to_device
        || mtlm_double_device_of(from) != from_device)
        mtlm_double_wrong(
            "a copy from device %d to %d has addresses of %d and %d",
            from_device, to_device, mtlm_double_device_of(from),
            mtlm_double_device_of(to));
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
    mtlm_double_copy(to, from, bytes, kind);
    mtlm_double_range((char *) to + (rows - 1) * to_pitch, bytes, "a copy");
    mtlm_double_range((const char *) from + (rows - 1) * from_pitch, bytes,
                      "a copy");
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
    return mtlm_double_give(cudaErrorNotSupported);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    return cudaMemcpy3DPeerAsync(p, NULL);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes,
                            cudaStream_t stream)
{
    mtlm_double_side(to, true, "cudaMemset");
    mtlm_double_range(to, bytes, "cudaMemset");
    enqueue(stream,
            (struct work){.to = to, .byte = byte, .bytes = bytes, .rows = 1});
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int byte, size_t bytes)
{
    cudaMemsetAsync(to, byte, bytes, NULL);
    return cudaStreamSynchronize(NULL);
}
