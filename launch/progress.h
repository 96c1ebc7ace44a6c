#ifndef MTLM_PROGRESS_H
#define MTLM_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* What a long iteration has done so far, on stderr:
 * "iteration 12: 3/16 microbatches, 1.2 microbatches/s, 11 s left, 2.1 h of
 * the run".  On a terminal one line, rewritten from the second second on;
 * elsewhere a line every 10 s.  A thread of its own writes it, so that it
 * comes even while the first microbatch lasts.  One iteration at a time, of
 * this process. */

/* Iteration (as the user counts, from 1) begins and has that many
 * microbatches to do, and the run that many after it.  To be called by one
 * thread, as are end and stop. */
void mtlm_progress_start(int64_t iteration, int64_t microbatches,
                         int64_t after);

/* One more microbatch is done; from any thread, never waits for another.
 * Microbatches of the next iteration may come before its start: those beyond
 * an iteration's number count for the next one. */
void mtlm_progress_add(void);

/* Takes the line off the terminal, so that others can be written. */
void mtlm_progress_end(void);

/* Ends the thread; nothing, when it never started. */
void mtlm_progress_stop(void);

/* Of the current iteration. */
int64_t mtlm_progress_done(void);

/* The text, without newline, done of total microbatches after seconds, and
 * after more to come in the run; returns text. */
char *mtlm_progress_text(int64_t iteration, int64_t done, int64_t total,
                         int64_t after, double seconds, char *text,
                         size_t size);

#endif /* MTLM_PROGRESS_H */
