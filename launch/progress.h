#ifndef MTLM_PROGRESS_H
#define MTLM_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* What a long iteration has done so far, on stderr:
 * "iteration 12: 3/16 microbatches, 1.2 microbatches/s, 11 s left".  On a
 * terminal one line, rewritten from the second second on; elsewhere a line
 * every 10 s.  One iteration at a time, of this process. */

/* Iteration (as the user counts, from 1) begins and has that many
 * microbatches to do.  To be called by one thread, as is end. */
void mtlm_progress_start(int64_t iteration, int64_t microbatches);

/* One more microbatch is done; from any thread, never waits for another.
 * Microbatches of the next iteration may come before its start: those beyond
 * an iteration's number count for the next one. */
void mtlm_progress_add(void);

/* Takes the line off the terminal, so that others can be written. */
void mtlm_progress_end(void);

/* Of the current iteration. */
int64_t mtlm_progress_done(void);

/* The text, without newline, done of total microbatches after seconds;
 * returns text. */
char *mtlm_progress_text(int64_t iteration, int64_t done, int64_t total,
                         double seconds, char *text, size_t size);

#endif /* MTLM_PROGRESS_H */
