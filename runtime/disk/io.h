#ifndef MTLM_IO_H
#define MTLM_IO_H

/* Threads that load and store offloaded state: the slots of
 * graph/build/offload.h, pieces of runtime/disk/pieces.h.
 *
 * A request is posted in program order, like a message.  StarPU hands over the
 * request's data after all earlier nodes on that data.  A thread performs the
 * request and hands the data back.  Requests that have their data go in the
 * order of posting.  No thread waits for another request, so one thread is
 * enough for progress. */

#include <starpu.h>

#include "runtime/base/error.h"
#include "runtime/disk/pieces.h"
#include "runtime/machine/recorder.h"

struct mtlm_io;
struct mtlm_policy_node;

struct mtlm_io_config {
    struct mtlm_pieces pieces;
    unsigned node;                  /* StarPU's memory node of the slots */
    int threads;                    /* at least 1 */
    struct mtlm_recorder *recorder; /* borrowed; NULL: none */
};

struct mtlm_io_request {
    bool stores;               /* else loads */
    int first, n;              /* pieces */
    bool zeros;                /* of a store: the pieces become zeros */
    starpu_data_handle_t slot; /* memory of the pieces, aligned like these */
    /* Further handles of the slot's memory.  On a GPU each handle may have its
     * valid copy elsewhere: a store fetches that copy to the slot, and a load
     * drops the copy. */
    const starpu_data_handle_t *held; /* [n_held] */
    int n_held;
    /* Ordering only: acquired as each mode says, never modified. */
    const struct starpu_data_descr *control; /* [n_control] */
    int n_control;
    /* The node that policies see (runtime/comm/policy_nodes.h), or NULL. */
    struct mtlm_policy_node *node;
    bool recorded;             /* complete record, and add it */
    struct mtlm_record record; /* the part that is known at submission */
};

/* Starts the threads; the caller stops them. */
struct mtlm_io *mtlm_io_start(const struct mtlm_io_config *config);

/* Posts a request, which is copied with its lists.  Called by one thread, in
 * program order.
 *
 * A load that fails, or returns other bytes than were stored, ends the job with
 * MTLM_EXIT_IO.  A store that fails keeps its bytes in memory
 * (mtlm_offload_file_write()), sets mtlm_io_error() and asks the job to stop
 * after this iteration (mtlm_stop_request()). */
void mtlm_io_post(struct mtlm_io *io, const struct mtlm_io_request *request);

/* Returns when all posted requests are done. */
void mtlm_io_wait(struct mtlm_io *io);

/* Returns the reason of the first store that failed, or NULL.  Call after
 * mtlm_io_wait(). */
const struct mtlm_error *mtlm_io_error(const struct mtlm_io *io);

/* Waits for all requests, ends the threads, frees io; NULL is allowed. */
void mtlm_io_stop(struct mtlm_io *io);

#endif /* MTLM_IO_H */
