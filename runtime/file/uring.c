/* Long reads and writes as several requests of io_uring at once. */

#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/file/uring.h"

#ifdef HAVE_LIBURING

#include <liburing.h>

/* Requests at once, and the bytes of each but the last. */
enum { DEPTH = 16, CHUNK = 1 << 20 };

/* A request, or what is left of one. */
struct uring_request {
    struct iovec memory;
    int64_t offset;
};

struct mtlm_uring {
    struct io_uring ring;
    struct uring_request request[DEPTH];
};

/* A read or write under way. */
struct uring_transfer {
    struct mtlm_uring *uring;
    int fd;
    bool writes;
    char *memory; /* of the bytes that no request has yet */
    int64_t bytes, offset;
    int pending; /* requests */
    bool failed;
    int reason; /* of the first failure; 0: the file is short */
};

/* Returns whether the ring does its work: a system may allow its creation and
 * nothing else. */
static bool works(struct io_uring *ring)
{
    struct io_uring_cqe *cqe;

    io_uring_prep_nop(io_uring_get_sqe(ring));
    if (io_uring_submit(ring) != 1 || io_uring_wait_cqe(ring, &cqe) < 0)
        return false;
    io_uring_cqe_seen(ring, cqe);
    return true;
}

struct mtlm_uring *mtlm_uring_create(void)
{
    struct mtlm_uring *uring = mtlm_calloc(1, sizeof(*uring));

    if (io_uring_queue_init(DEPTH, &uring->ring, 0) == 0) {
        if (works(&uring->ring))
            return uring;
        io_uring_queue_exit(&uring->ring);
    }
    free(uring);
    return NULL;
}

void mtlm_uring_destroy(struct mtlm_uring *uring)
{
    if (!uring)
        return;
    io_uring_queue_exit(&uring->ring);
    free(uring);
}

static void queue(const struct uring_transfer *t, struct uring_request *r)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&t->uring->ring);

    assert(sqe); /* at most DEPTH requests at once */
    if (t->writes)
        io_uring_prep_writev(sqe, t->fd, &r->memory, 1, r->offset);
    else
        io_uring_prep_readv(sqe, t->fd, &r->memory, 1, r->offset);
    io_uring_sqe_set_data(sqe, r);
}

/* Queues the next bytes of the transfer, if some are left and none failed. */
static void queue_next(struct uring_transfer *t, struct uring_request *r)
{
    const size_t bytes = t->bytes < CHUNK ? t->bytes : CHUNK;

    if (bytes == 0 || t->failed)
        return;
    *r = (struct uring_request){{t->memory, bytes}, t->offset};
    t->memory += bytes;
    t->offset += bytes;
    t->bytes -= bytes;
    t->pending++;
    queue(t, r);
}

/* Takes the result of a request: its bytes, or a negative errno. */
static void finish_request(struct uring_transfer *t, struct uring_request *r,
                           int result)
{
    const bool again = result == -EINTR || result == -EAGAIN;

    if (result <= 0 && !again && !t->failed) {
        t->failed = true;
        t->reason = -result;
    }
    if (result > 0) {
        r->memory.iov_base = (char *) r->memory.iov_base + result;
        r->memory.iov_len -= result;
        r->offset += result;
    }
    if (r->memory.iov_len > 0 && !t->failed) {
        queue(t, r);
        return;
    }
    t->pending--;
    queue_next(t, r);
}

/* Hands queued requests to the system, and waits for a result. */
static void submit_and_wait(struct io_uring *ring)
{
    int rc;

    do
        rc = io_uring_submit_and_wait(ring, 1);
    while (rc == -EINTR || rc == -EAGAIN || rc == -EBUSY);
    /* The system may still write to the memory of requests. */
    if (rc < 0)
        mtlm_fatal(__FILE__, __LINE__, "io_uring_submit_and_wait: %s",
                   strerror(-rc));
}

static void take_results(struct uring_transfer *t)
{
    struct io_uring *ring = &t->uring->ring;
    struct io_uring_cqe *cqe;
    unsigned head, n = 0;

    io_uring_for_each_cqe(ring, head, cqe)
    {
        finish_request(t, io_uring_cqe_get_data(cqe), cqe->res);
        n++;
    }
    io_uring_cq_advance(ring, n);
    mtlm_disk_note_call();
}

int mtlm_uring_transfer(struct mtlm_uring *uring, int fd, bool writes,
                        void *memory, int64_t bytes, int64_t offset)
{
    struct uring_transfer t = {.uring = uring,
                               .fd = fd,
                               .writes = writes,
                               .memory = memory,
                               .bytes = bytes,
                               .offset = offset};

    for (int i = 0; i < DEPTH; i++)
        queue_next(&t, &uring->request[i]);
    while (t.pending > 0) {
        submit_and_wait(&uring->ring);
        take_results(&t);
    }
    errno = t.reason;
    return t.failed ? -1 : 0;
}

#else

struct mtlm_uring *mtlm_uring_create(void)
{
    return NULL;
}

void mtlm_uring_destroy(struct mtlm_uring *uring)
{
    assert(!uring);
}

int mtlm_uring_transfer(struct mtlm_uring *uring, int fd, bool writes,
                        void *memory, int64_t bytes, int64_t offset)
{
    (void) uring, (void) fd, (void) writes;
    (void) memory, (void) bytes, (void) offset;
    assert(!"no ring exists");
    return -1;
}

#endif
