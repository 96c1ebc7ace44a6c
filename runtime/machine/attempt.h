#ifndef MTLM_ATTEMPT_H
#define MTLM_ATTEMPT_H

/* Calls attempt(context) in a child process, which may crash or hang.  Returns
 * the signal that ended the child; 0: none; -1: there is no child, errno says
 * why.  The child may use so many seconds of processor time (SIGPROF ends the
 * child), and thirty times as many in all (SIGALRM). */
int mtlm_attempt(void (*attempt)(void *), void *context, int seconds);

/* Returns the processor time of the calling thread alone, in seconds, for
 * attempts that measure. */
double mtlm_attempt_seconds(void);

#endif /* MTLM_ATTEMPT_H */
