/* Threads that load and store offloaded state when StarPU hands over its
 * memory. */

#include "config.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/activity.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/disk/io.h"
#include "runtime/machine/data.h"
#include "runtime/machine/signals.h"

/* A posted request that is not yet complete. */
struct work {
    struct mtlm_io_request request;
    struct mtlm_io *io;
    struct starpu_data_descr *control; /* the request's lists */
    starpu_data_handle_t *held;
    int64_t number;    /* in the order of posting */
    int acquired;      /* handles that StarPU has handed over */
    struct work *next; /* in the queue */
};

struct mtlm_io {
    struct mtlm_io_config config;
    pthread_t *thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct work *ready; /* by number */
    int64_t posted, finished;
    bool quit, failed;
    struct mtlm_error err; /* of the first store that failed */
};

/* ---- StarPU's side ---- */

/* Inserts work that has its data. */
static void push(struct mtlm_io *io, struct work *work)
{
    struct work **at = &io->ready;

    while (*at && (*at)->number < work->number)
        at = &(*at)->next;
    work->next = *at;
    *at = work;
    pthread_cond_broadcast(&io->changed);
}

/* StarPU has acquired a handle.  Called by StarPU; must not block. */
static void on_acquired(void *arg)
{
    struct work *work = arg;
    struct mtlm_io *io = work->io;
    bool all;

    pthread_mutex_lock(&io->mutex);
    all =
        ++work->acquired == 1 + work->request.n_held + work->request.n_control;
    pthread_mutex_unlock(&io->mutex);
    if (!all)
        return;
    work->request.record.ready_ns = mtlm_now_ns();
    if (work->request.node)
        mtlm_policy_nodes_ready(work->request.node);
    pthread_mutex_lock(&io->mutex);
    push(io, work);
    pthread_mutex_unlock(&io->mutex);
}

static void acquire_data(struct work *work)
{
    /* A thread may free the work once the last handle is requested. */
    const struct mtlm_io_request r = work->request;
    const unsigned node = work->io->config.node;
    const enum starpu_data_access_mode mode = r.stores ? STARPU_RW : STARPU_W;

    MTLM_CHECK_STARPU(
        starpu_data_acquire_on_node_cb(r.slot, node, mode, on_acquired, work));
    for (int i = 0; i < r.n_held; i++)
        MTLM_CHECK_STARPU(starpu_data_acquire_on_node_cb(r.held[i], node, mode,
                                                         on_acquired, work));
    for (int i = 0; i < r.n_control; i++)
        MTLM_CHECK_STARPU(starpu_data_acquire_on_node_cb(
            r.control[i].handle, STARPU_ACQUIRE_NO_NODE, r.control[i].mode,
            on_acquired, work));
}

static void hand_back(const struct work *work)
{
    const struct mtlm_io_request *r = &work->request;

    for (int i = 0; i < r->n_control; i++)
        starpu_data_release_on_node(r->control[i].handle,
                                    STARPU_ACQUIRE_NO_NODE);
    for (int i = 0; i < r->n_held; i++)
        starpu_data_release_on_node(r->held[i], work->io->config.node);
    starpu_data_release_on_node(r->slot, work->io->config.node);
}

static void *copy_list(const void *list, int n, size_t bytes)
{
    void *copy = mtlm_calloc(n, bytes);

    if (n > 0)
        memcpy(copy, list, n * bytes);
    return copy;
}

void mtlm_io_post(struct mtlm_io *io, const struct mtlm_io_request *request)
{
    struct work *work = mtlm_calloc(1, sizeof(*work));

    *work = (struct work){.request = *request, .io = io};
    work->control = copy_list(request->control, request->n_control,
                              sizeof(*request->control));
    work->held =
        copy_list(request->held, request->n_held, sizeof(*request->held));
    work->request.control = work->control;
    work->request.held = work->held;
    work->request.record.submit_ns = mtlm_now_ns();
    pthread_mutex_lock(&io->mutex);
    work->number = io->posted++;
    pthread_mutex_unlock(&io->mutex);
    acquire_data(work);
}

/* ---- the threads ---- */

static void note_failure(struct mtlm_io *io, const struct mtlm_error *err)
{
    pthread_mutex_lock(&io->mutex);
    if (!io->failed)
        io->err = *err;
    io->failed = true;
    pthread_mutex_unlock(&io->mutex);
    mtlm_stop_request();
}

static void perform(struct work *work)
{
    struct mtlm_io_request *r = &work->request;
    struct mtlm_io *io = work->io;
    void *memory = starpu_data_handle_to_pointer(r->slot, io->config.node);
    struct mtlm_error err;

    r->record.start_ns = mtlm_now_ns();
    if (r->node)
        mtlm_policy_nodes_started(r->node);
    if (r->zeros) {
        mtlm_pieces_clear(&io->config.pieces, r->first, r->n);
    } else if (r->stores) {
        if (mtlm_pieces_store(&io->config.pieces, r->first, r->n, memory, &err)
            < 0)
            note_failure(io, &err);
    } else if (mtlm_pieces_load(&io->config.pieces, r->first, r->n, memory,
                                &err)
               < 0) {
        mtlm_end_job(err.code, "%s", err.text);
    }
    r->record.end_ns = mtlm_now_ns();
    mtlm_activity_progress();
    if (r->node)
        mtlm_policy_nodes_ended(r->node);
    if (r->recorded && io->config.recorder)
        mtlm_recorder_add(io->config.recorder, &r->record);
    hand_back(work);
}

static void *run_thread(void *arg)
{
    struct mtlm_io *io = arg;

    pthread_mutex_lock(&io->mutex);
    while (io->ready || !io->quit) {
        struct work *work = io->ready;

        if (!work) {
            pthread_cond_wait(&io->changed, &io->mutex);
            continue;
        }
        io->ready = work->next;
        pthread_mutex_unlock(&io->mutex);
        perform(work);
        free(work->held);
        free(work->control);
        free(work);
        pthread_mutex_lock(&io->mutex);
        io->finished++;
        pthread_cond_broadcast(&io->changed);
    }
    pthread_mutex_unlock(&io->mutex);
    return NULL;
}

struct mtlm_io *mtlm_io_start(const struct mtlm_io_config *config)
{
    struct mtlm_io *io = mtlm_calloc(1, sizeof(*io));
    sigset_t all, before;
    int rc = 0;

    assert(config->threads > 0);
    io->config = *config;
    io->thread = mtlm_calloc(config->threads, sizeof(*io->thread));
    pthread_mutex_init(&io->mutex, NULL);
    pthread_cond_init(&io->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < config->threads && rc == 0; i++)
        rc = pthread_create(&io->thread[i], NULL, run_thread, io);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        mtlm_fatal(__FILE__, __LINE__, "cannot start a thread for the disk: %s",
                   strerror(rc));
    return io;
}

void mtlm_io_wait(struct mtlm_io *io)
{
    pthread_mutex_lock(&io->mutex);
    while (io->finished < io->posted)
        pthread_cond_wait(&io->changed, &io->mutex);
    pthread_mutex_unlock(&io->mutex);
}

const struct mtlm_error *mtlm_io_error(const struct mtlm_io *io)
{
    return io->failed ? &io->err : NULL;
}

void mtlm_io_stop(struct mtlm_io *io)
{
    if (!io)
        return;
    mtlm_io_wait(io);
    pthread_mutex_lock(&io->mutex);
    io->quit = true;
    pthread_cond_broadcast(&io->changed);
    pthread_mutex_unlock(&io->mutex);
    for (int i = 0; i < io->config.threads; i++)
        pthread_join(io->thread[i], NULL);
    pthread_mutex_destroy(&io->mutex);
    pthread_cond_destroy(&io->changed);
    free(io->thread);
    free(io);
}
