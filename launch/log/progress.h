#ifndef MTLM_PROGRESS_H
#define MTLM_PROGRESS_H

/* Progress of a long iteration or validation on stderr: "iteration 12: 3.1/16
 * microbatches, 1.2 microbatches/s, 11 s left, 2.1 h of the run".  A terminal
 * has one line, rewritten after the first second.  Elsewhere a line follows
 * after 5 s, then every 10 s.  A thread prints; one iteration at a time per
 * process. */

#include <stddef.h>
#include <stdint.h>

/* Starts `what` ("iteration 12") of so many microbatches, followed by `after`
 * microbatches of the run (0: unknown).  One thread calls start, end and
 * stop. */
void mtlm_progress_start(const char *what, int64_t microbatches, int64_t after);

/* Adds a part of a microbatch.  Thread-safe, lock-free.  Parts beyond the
 * iteration's number of microbatches count for the next iteration. */
void mtlm_progress_add(double part);

/* Clears the line on the terminal. */
void mtlm_progress_end(void);

/* Stops the thread, if it runs. */
void mtlm_progress_stop(void);

/* Writes the line without newline: done of total microbatches after seconds,
 * and `after` microbatches left in the run.  Returns text. */
char *mtlm_progress_text(const char *what, double done, int64_t total,
                         int64_t after, double seconds, char *text,
                         size_t size);

#endif /* MTLM_PROGRESS_H */
