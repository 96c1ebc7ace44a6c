#ifndef MTLM_DEADLINE_H
#define MTLM_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* A job with a rank that hangs, or in which all ranks wait for each other, must
 * not hang with it: it ends with MTLM_EXIT_PEER and a sentence that says what
 * was waited for.  A rank that others wait for may take as long as it likes,
 * if only it is at it.
 *
 * A thread of its own looks now and then, whatever the others are in.  It gives
 * the other ranks a sign of life and takes theirs (runtime/pulse.h), which also
 * say when any rank did something last.  What is doing something:
 *   - tasks run or could run on the rank's workers;
 *   - its communication engine has finished a message, or models a transfer;
 *   - its main thread has finished a wait for others, or has used processor
 *     time outside such a wait: it prepares data, measures or writes files.  A
 *     main thread that hangs in a system call uses none, which counts but where
 *     it waits for a checkpoint's files: a slow disk may take its time.
 * The job ends
 *   - when a neighbour in the tree of signs has given none for longer than the
 *     deadline: it is stopped, or its host is lost;
 *   - when this rank waits, and no rank has done anything for longer than the
 *     deadline;
 *   - when a call of MPI has not returned for that long;
 *   - before there are signs, in MPI_Init(), and after them, in MPI_Finalize():
 *     when the wait itself takes longer.
 * Time in which this process itself was stopped, and with it perhaps the whole
 * job, does not count. */

/* A thread that is so much later than it wanted was not allowed to run. */
#define MTLM_ASLEEP_NS INT64_C(2000000000)

/* Threads that wait, each for one thing at a time. */
enum mtlm_waiter { MTLM_WAITER_MAIN, MTLM_WAITER_ENGINE, MTLM_WAITER_COUNT };

/* Starts the thread; called by the main thread.  seconds 0: MTLM_DEADLINE_S,
 * for who does not know better yet. */
#define MTLM_DEADLINE_S 600.0
void mtlm_deadline_start(double seconds);
void mtlm_deadline_stop(void);

/* From now on signs of life go through pulse; NULL: no more, and the thread
 * does not use the last one any more. */
struct mtlm_pulse;
void mtlm_deadline_attach(struct mtlm_pulse *pulse);

/* The wait for what begins ("all ranks to agree on ..."), or is for something
 * else now, and ends; what is copied. */
void mtlm_deadline_begin(enum mtlm_waiter waiter, const char *what);
void mtlm_deadline_end(enum mtlm_waiter waiter);

/* The main thread waits for files that are written, and is at work whatever
 * processor time it uses; or does not any more. */
void mtlm_deadline_writes(bool writes);

/* This rank has done something. */
void mtlm_deadline_progress(void);

#endif /* MTLM_DEADLINE_H */
