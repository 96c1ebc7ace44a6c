#ifndef MTLM_UNFINISHED_H
#define MTLM_UNFINISHED_H

/* Files that must not outlive a process which a signal ends.
 *
 * SIGHUP, SIGINT, SIGTERM and SIGUSR1 remove the files, the last one first, and
 * then end the process as by default.  A program that catches or ignores these
 * signals keeps doing so.  Call the functions from one thread. */

/* Adds a file, or a directory that is empty without the files added later.  The
 * path is copied. */
void mtlm_unfinished_add(const char *path);

/* The last n files added are finished, or gone: signals leave them alone. */
void mtlm_unfinished_drop(int n);

#endif /* MTLM_UNFINISHED_H */
