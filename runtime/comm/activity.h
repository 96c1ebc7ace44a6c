#ifndef MTLM_ACTIVITY_H
#define MTLM_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this rank makes progress, and what its threads wait for.
 *
 * The threads of a rank note their waits and their progress here.  The watchdog
 * (runtime/comm/watchdog.h) reads the notes.  A rank makes progress while
 *   - tasks run on its workers, or could run;
 *   - its communication engine finishes a message, or models a transfer;
 *   - a request for offloaded state (runtime/disk/pieces.h) is under way;
 *   - its threads of the disk (runtime/disk/io.h) finish a load or a store;
 *   - its main thread ends a wait, or uses processor time outside a wait: data
 *     preparation, measurements, writing of files.  A main thread that hangs in
 *     a system call uses no processor time, and makes no progress;
 *   - its main thread waits for checkpoint files while a thread is at the disk.
 * All functions may be called by any thread, except where noted. */

/* A thread that oversleeps by more than this was not allowed to run. */
#define MTLM_ASLEEP_NS INT64_C(2000000000)

/* Who waits; each waits for one thing at a time. */
enum mtlm_waiter {
    MTLM_WAITER_FILES,  /* the main thread, for files */
    MTLM_WAITER_MAIN,   /* the main thread, for anything else */
    MTLM_WAITER_ENGINE, /* the communication engine */
    MTLM_WAITER_COUNT
};

/* A wait begins, or its reason changes.  what, "all ranks to agree on ...", is
 * copied.  Called by the waiting thread. */
void mtlm_activity_wait_begin(enum mtlm_waiter waiter, const char *what);

/* The wait ends, which counts as progress.  Called by the waiting thread. */
void mtlm_activity_wait_end(enum mtlm_waiter waiter);

/* This rank makes progress now. */
void mtlm_activity_progress(void);

/* Time of this rank's last progress (mtlm_now_ns()). */
int64_t mtlm_activity_progress_ns(void);

/* A task of a worker begins. */
void mtlm_activity_task_begin(void);

/* A task of a worker has ended. */
void mtlm_activity_task_end(void);

/* A thread begins (is = true) or ends work at the disk of checkpoints; one
 * thread at a time.  The thread need not be the one that waits for files. */
void mtlm_activity_at_disk(bool is);

/* A thread begins a request for offloaded state; any number of threads. */
void mtlm_activity_offload_begin(void);

/* A request for offloaded state ends. */
void mtlm_activity_offload_end(void);

/* --- for the watchdog ---------------------------------------------------- */

/* What the notes say at one moment. */
struct mtlm_activity {
    bool waits;         /* some thread waits */
    char what[200];     /* for this */
    int64_t waited_ns;  /* since then; 0 when no thread waits */
    bool disk_waits;    /* a wait for files, with a thread at the disk */
    bool offload_waits; /* a request for offloaded state is under way */
    int64_t disk_ns;    /* time since the last return of a call of the disk */
};

/* Takes the calling thread as the main thread.  From now on calls of the disk
 * are noted (mtlm_disk_on_call()). */
void mtlm_activity_start(void);

/* Returns the number of tasks that have begun. */
int64_t mtlm_activity_begun(void);

/* Returns the number of tasks that have ended. */
int64_t mtlm_activity_tasks(void);

/* Notes progress where the rank has made any since the last call; returns what
 * the notes say.  Called by one thread. */
struct mtlm_activity mtlm_activity_look(void);

/* The process was stopped for late_ns, which does not count: moves all times
 * forward by that much, at most to now. */
void mtlm_activity_shift(int64_t late_ns);

#endif /* MTLM_ACTIVITY_H */
