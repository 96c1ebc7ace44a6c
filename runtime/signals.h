#ifndef MTLM_SIGNALS_H
#define MTLM_SIGNALS_H

/* Stopping on request.  The first SIGINT, SIGTERM or SIGUSR1 only sets a
 * flag, which every iteration's status vector carries to all ranks, so that
 * all stop after the same one; the second ends the process at once. */
void mtlm_signals_start(void);

/* Asks for the same by program: a time limit, say. */
void mtlm_stop_request(void);

int mtlm_stop_requested(void);

#endif /* MTLM_SIGNALS_H */
