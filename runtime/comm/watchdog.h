#ifndef MTLM_WATCHDOG_H
#define MTLM_WATCHDOG_H

#include <stdbool.h>

/* The watchdog ends a job in which a rank hangs, or in which all ranks wait for
 * each other: MTLM_EXIT_PEER, and a sentence that says what was waited for.  A
 * rank that makes progress may take as long as it needs.
 *
 * A thread of each rank looks at regular intervals.  At each look the thread
 * exchanges signs of life with neighbouring ranks (runtime/comm/pulse.h), which
 * carry the time of the last progress of any rank.  What counts as progress is
 * in runtime/comm/activity.h.  The watchdog ends the job when
 *   - a neighbour in the tree of signs has been silent for longer than the
 *     deadline: the process is stopped, or its host is lost;
 *   - this rank waits, and no rank has made progress for longer than the
 *     deadline;
 *   - a call of MPI does not return within the deadline;
 *   - this rank waits for files, and no call of the disk has returned for
 *     MTLM_DISK_DEADLINES times the deadline: the disk, or its server, is lost;
 *   - a request for offloaded state is under way, also in a process alone, and
 *     no call of the disk has returned for as long; after a signal, unless a
 *     checkpoint is written, for the deadline alone;
 *   - a signal asks the job to stop, tasks of this rank run or could run, and
 *     none ends within the deadline or MTLM_STUCK_S: a worker hangs;
 *   - tasks of this rank could run, but none runs or starts within the
 * deadline: the scheduling policy withholds a ready task;
 *   - a wait inside MPI_Init() or MPI_Finalize(), where there are no signs of
 *     life, takes longer than the deadline.
 * Time in which this process was stopped does not count: perhaps the whole job
 * was stopped with it. */

/* One call of the disk may take this many times the deadline. */
enum { MTLM_DISK_DEADLINES = 10 };

/* A wait for the start of MPI that takes longer, in seconds, is reported once
 * by so many ranks. */
#define MTLM_START_S 5.0
enum { MTLM_START_RANKS = 16 };

/* Seconds without the end of a task after a signal. */
#define MTLM_STUCK_S 60.0

/* The deadline before the options are known, in seconds. */
#define MTLM_WATCHDOG_S 600.0

/* Starts the watchdog with a deadline in seconds; 0: MTLM_WATCHDOG_S.  Called
 * by the main thread, before MPI starts. */
void mtlm_watchdog_start(double seconds);

/* Ends the watchdog.  Does nothing where none was started. */
void mtlm_watchdog_stop(void);

/* Exchanges signs of life through pulse from now on, which is borrowed; NULL:
 * exchanges none.  On return the previous pulse is no longer in use. */
struct mtlm_pulse;
void mtlm_watchdog_attach(struct mtlm_pulse *pulse);

/* Returns for how many times the deadline a call of the disk may take; 0: no
 * request is under way.  After a signal a checkpoint still gets all the time
 * that a disk may take: without the checkpoint the work is lost. */
struct mtlm_activity;
int mtlm_watchdog_disk_deadlines(const struct mtlm_activity *seen,
                                 bool signalled);

#endif /* MTLM_WATCHDOG_H */
