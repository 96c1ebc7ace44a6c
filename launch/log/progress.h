#ifndef MTLM_PROGRESS_H
#define MTLM_PROGRESS_H

/* Progress of a long iteration or validation on stderr: "iteration 12: 3.1/16
 * microbatches, 1.2 microbatches/s, 11 s left, 2.1 h of the run".  A terminal
 * shows one line from 1 s on, rewritten every 0.5 s.  Elsewhere, the first line
 * follows after 5 s, then one every 10 s.  A thread of its own prints.  A
 * process has one iteration at a time. */

#include <stddef.h>
#include <stdint.h>

/* Starts the iteration `what` ("iteration 12") of so many microbatches.  after:
 * later microbatches of the run, 0: unknown.  One thread calls start, end and
 * stop. */
void mtlm_progress_start(const char *what, int64_t microbatches, int64_t after);

/* Adds a part of a microbatch.  Thread-safe, lock-free.  Parts beyond the
 * iteration's number of microbatches count for the next iteration. */
void mtlm_progress_add(double part);

/* Ends the iteration: nothing is printed until the next start.  Clears the line
 * on the terminal. */
void mtlm_progress_end(void);

/* Stops the printing thread, if it runs. */
void mtlm_progress_stop(void);

/* Writes the line without newline to text [size], and returns text.  done of
 * total microbatches took `seconds`.  after: later microbatches of the run. */
char *mtlm_progress_text(const char *what, double done, int64_t total,
                         int64_t after, double seconds, char *text,
                         size_t size);

#endif /* MTLM_PROGRESS_H */
