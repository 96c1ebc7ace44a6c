#ifndef MTLM_DEADLINE_H
#define MTLM_DEADLINE_H

#include <stdint.h>

/* A rank whose peer hangs must not hang with it.  Whoever waits for other
 * ranks says so; when the wait lasts longer than the deadline, the job ends
 * with MTLM_EXIT_PEER and a sentence that names what was waited for.  A
 * thread of its own looks: the waiting one may be inside a call of MPI.  Time
 * in which this process itself was stopped, and with it perhaps the whole job,
 * does not count. */

/* A thread that is so much later than it wanted was not allowed to run. */
#define MTLM_ASLEEP_NS INT64_C(2000000000)

/* Threads that wait, each for one thing at a time. */
enum mtlm_waiter { MTLM_WAITER_MAIN, MTLM_WAITER_ENGINE, MTLM_WAITER_COUNT };

/* Starts the thread.  seconds 0: MTLM_DEADLINE_S, for who does not know
 * better yet. */
#define MTLM_DEADLINE_S 600.0
void mtlm_deadline_start(double seconds);
void mtlm_deadline_stop(void);

/* The deadline in seconds; 0: there is none. */
double mtlm_deadline_seconds(void);

/* The wait for what begins and ends ("all ranks to agree on ..."); what is a
 * string that lives on. */
void mtlm_deadline_begin(enum mtlm_waiter waiter, const char *what);
void mtlm_deadline_end(enum mtlm_waiter waiter);

/* Ends the job: it has waited that long for what. */
void mtlm_deadline_missed(double seconds, const char *what)
    __attribute__((noreturn));

#endif /* MTLM_DEADLINE_H */
