#ifndef MTLM_PROGRESS_H
#define MTLM_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* What a long iteration or validation has done so far, on stderr:
 * "iteration 12: 3.1/16 microbatches, 1.2 microbatches/s, 11 s left, 2.1 h of
 * the run".  On a terminal one line, rewritten from the second second on;
 * elsewhere a line after 5 s, then every 10 s, by a thread of its own.  One
 * iteration at a time, of this process. */

/* What ("iteration 12") begins and has that many microbatches to do, and the
 * run that many after it (0: that is not told).  To be called by one thread, as
 * are end and stop. */
void mtlm_progress_start(const char *what, int64_t microbatches, int64_t after);

/* That part of a microbatch is done; from any thread, never waits for another.
 * The next iteration's may come before its start: what is beyond an
 * iteration's number of microbatches counts for the next one. */
void mtlm_progress_add(double part);

/* Takes the line off the terminal, so that others can be written. */
void mtlm_progress_end(void);

/* Ends the thread; nothing, when it never started. */
void mtlm_progress_stop(void);

/* Microbatches of the current iteration. */
double mtlm_progress_done(void);

/* The text, without newline, done of total microbatches after seconds, and
 * after more to come in the run; returns text. */
char *mtlm_progress_text(const char *what, double done, int64_t total,
                         int64_t after, double seconds, char *text,
                         size_t size);

#endif /* MTLM_PROGRESS_H */
