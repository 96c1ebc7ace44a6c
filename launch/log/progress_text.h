#ifndef MTLM_PROGRESS_TEXT_H
#define MTLM_PROGRESS_TEXT_H

/* Texts of the progress of a run: a line for logs, a bar for terminals. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the line without newline to text [size], and returns text: "iteration
 * 12: 3.1/16 microbatches, 1.2 microbatches/s, 11 s left, 2.1 h of the run".
 * done of total microbatches took `seconds`.  after: later microbatches of the
 * run, 0: unknown. */
char *mtlm_progress_text(const char *what, double done, int64_t total,
                         int64_t after, double seconds, char *text,
                         size_t size);

/* What a bar shows. */
struct mtlm_progress_text_bar {
    const char *what; /* "iteration 12" */
    int64_t number;   /* of iterations, shown as "iteration 12/50"; 0: none */
    double share;     /* done, 0 to 1 */
    const char *note; /* in place of the times; NULL: none */
    double seconds_left; /* negative: unknown */
    double rate;         /* microbatches per second; 0: unknown */
    double done;         /* microbatches of a long iteration ... */
    int64_t total;       /* ... of so many; 0: left out */
};

/* Returns the bar as one line of fewer than `columns` columns, without newline:
 * "iteration 12/50 [====>     ] 24 % | 42 s left | 1.2 microbatches/s".  The
 * caller frees the line.  Fields that no longer fit are left out.  colour: the
 * bar is green; escapes take no columns. */
char *mtlm_progress_text_bar(const struct mtlm_progress_text_bar *bar,
                             int columns, bool colour);

#endif /* MTLM_PROGRESS_TEXT_H */
