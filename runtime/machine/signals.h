#ifndef MTLM_SIGNALS_H
#define MTLM_SIGNALS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stopping on request.  The first SIGINT, SIGTERM or SIGUSR1 sets a flag.  The
 * status vector of every iteration, and of every piece of a validation, carries
 * the flag to all ranks: all stop after the same one.  The second signal ends
 * the process at once. */

/* Installs the signal handlers; ignores SIGPIPE and SIGXFSZ. */
void mtlm_signals_start(void);

/* Lets signals end the process at once, for work that has nothing to save:
 * SIGINT and SIGTERM as by default; SIGUSR1, by which mtlm-run asks, with
 * MTLM_EXIT_INTERRUPTED.  A signal that came before ends the process now. */
void mtlm_signals_end_at_once(void);

/* Reasons to stop; 0: none.  The ranks' values are added up, and a signal must
 * stay distinguishable from a time limit. */
enum mtlm_stop { MTLM_STOP_TIME = 1, MTLM_STOP_SIGNAL = 1 << 20 };

/* Sets the flag from the program: the job cannot go on. */
void mtlm_stop_request(void);

/* Sets the time limit, on the clock of mtlm_now_ns(). */
void mtlm_stop_at(int64_t ns);

/* Returns the reason to stop, enum mtlm_stop, or 0. */
int mtlm_stop_requested(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_SIGNALS_H */
