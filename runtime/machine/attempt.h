#ifndef MTLM_ATTEMPT_H
#define MTLM_ATTEMPT_H

#include <signal.h>

#include "runtime/base/error.h"

/* The child may take so many times its processor time in all. */
enum { MTLM_ATTEMPT_PATIENCE = 30 };

/* Calls attempt(context) in a child process, which may crash or hang.  Returns
 * the signal that ended the child; 0: none; -1: there is no child, or nobody
 * knows how the child ended; errno says why.  The child may use so many seconds
 * of processor time (SIGPROF ends the child), and MTLM_ATTEMPT_PATIENCE times
 * as many in all (SIGALRM). */
int mtlm_attempt(void (*attempt)(void *), void *context, int seconds);

/* Makes the kernel keep how children end, also for a process that ignores
 * SIGCHLD.  Writes the action of SIGCHLD so far to before; the caller sets that
 * action again after waitpid(). */
void mtlm_attempt_keep_children(struct sigaction *before);

/* The error of an attempt without a child: "no process can try WHAT", and
 * what errno says.  Returns -1. */
int mtlm_attempt_refused(const char *what, struct mtlm_error *err);

/* Returns the processor time of the calling thread alone, in seconds, for
 * attempts that measure. */
double mtlm_attempt_seconds(void);

#endif /* MTLM_ATTEMPT_H */
