#ifndef MTLM_SIGNALS_H
#define MTLM_SIGNALS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Stopping on request.  The first SIGINT, SIGTERM or SIGUSR1 only sets a
 * flag, which the status vector of every iteration and of every piece of a
 * validation carries to all ranks, so that
 * all stop after the same one; the second ends the process at once. */
void mtlm_signals_start(void);

/* Why to stop; 0: no reason.  The values of all ranks add up, and a signal
 * must still be told from a time limit. */
enum mtlm_stop { MTLM_STOP_TIME = 1, MTLM_STOP_SIGNAL = 1 << 20 };

/* Asks for the same by program: the time limit is reached. */
void mtlm_stop_request(void);

int mtlm_stop_requested(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_SIGNALS_H */
