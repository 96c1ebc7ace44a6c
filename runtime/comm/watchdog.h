#ifndef MTLM_WATCHDOG_H
#define MTLM_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

/* A job with a rank that hangs, or in which all ranks wait for each other, must
 * not hang with it: it ends with MTLM_EXIT_PEER and a sentence that says what
 * was waited for.  A rank that others wait for may take as long as it likes,
 * if only it is at it.
 *
 * A thread of its own looks now and then, whatever the others are in.  It gives
 * the other ranks a sign of life and takes theirs (runtime/comm/pulse.h), which
 * also say when any rank did something last.  What is doing something:
 *   - tasks run or could run on the rank's workers;
 *   - its communication engine has finished a message, or models a transfer;
 *   - its main thread has finished a wait for others, or has used processor
 *     time outside such a wait: it prepares data, measures or writes files.  A
 *     main thread that hangs in a system call uses none, which counts;
 *   - its main thread waits for a checkpoint's files, and a thread is at the
 *     disk with them: a slow disk may take its time.
 * The job ends
 *   - when a neighbour in the tree of signs has given none for longer than the
 *     deadline: it is stopped, or its host is lost;
 *   - when this rank waits, and no rank has done anything for longer than the
 *     deadline;
 *   - when a call of MPI has not returned for that long;
 *   - when it waits for the disk, no call of which has returned for
 *     MTLM_DISK_DEADLINES times that long: the disk, or its server, is lost;
 *   - before there are signs, in MPI_Init(), and after them, in MPI_Finalize():
 *     when the wait itself takes longer.
 * Time in which this process itself was stopped, and with it perhaps the whole
 * job, does not count. */

/* A thread that is so much later than it wanted was not allowed to run. */
#define MTLM_ASLEEP_NS INT64_C(2000000000)

/* One call of the disk may take so many times the deadline. */
enum { MTLM_DISK_DEADLINES = 10 };

/* Who waits, each for one thing at a time: the main thread for files, and for
 * all else; the communication engine. */
enum mtlm_waiter {
    MTLM_WAITER_FILES,
    MTLM_WAITER_MAIN,
    MTLM_WAITER_ENGINE,
    MTLM_WAITER_COUNT
};

/* Starts the thread; called by the main thread.  seconds 0: MTLM_WATCHDOG_S,
 * for who does not know better yet. */
#define MTLM_WATCHDOG_S 600.0
void mtlm_watchdog_start(double seconds);
void mtlm_watchdog_stop(void);

/* From now on signs of life go through pulse; NULL: no more, and the thread
 * does not use the last one any more. */
struct mtlm_pulse;
void mtlm_watchdog_attach(struct mtlm_pulse *pulse);

/* The wait for what begins ("all ranks to agree on ..."), or is for something
 * else now, and ends; what is copied. */
void mtlm_watchdog_begin(enum mtlm_waiter waiter, const char *what);
void mtlm_watchdog_end(enum mtlm_waiter waiter);

/* A thread, one at a time, is at the disk; or is not any more.  That counts
 * while the main thread waits for files: it need not be the same one. */
void mtlm_watchdog_at_disk(bool is);

/* A call of the disk has returned.  Any thread. */
void mtlm_watchdog_disk_call(void);

/* This rank has done something. */
void mtlm_watchdog_progress(void);

#endif /* MTLM_WATCHDOG_H */
