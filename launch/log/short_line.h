#ifndef MTLM_SHORT_LINE_H
#define MTLM_SHORT_LINE_H

/* Log lines for people, of at most 120 columns: "iteration 12/50 | loss 2.2909
 * | lr 9.335E-04 | norm 2.296 | 80.8 ms | 3169.9 tokens/s | 42 s left". */

#include <stdbool.h>

#include "launch/log/log_line.h"

enum { MTLM_SHORT_LINE_COLUMNS = 120 };

/* Returns the line without newline; the caller frees it.  Less important fields
 * that no longer fit are left out.  colour: the loss is bold, skipped and NaN
 * iterations are red; escapes take no columns. */
char *mtlm_short_line_iteration(const struct mtlm_log_iteration *log,
                                bool colour);

/* Returns the line of a validation; the caller frees it.  set: "validation" or
 * "test".  of_tokens: the loss is one of tokens, whose perplexity follows.
 * Negative sop_loss and sop_accuracy are left out. */
char *mtlm_short_line_validation(const char *set, int64_t iteration,
                                 double loss, bool of_tokens, double sop_loss,
                                 double sop_accuracy, bool colour);

/* Whether the file descriptor is a terminal that takes escapes: TERM is not
 * "dumb". */
bool mtlm_short_line_terminal(int fd);

/* Whether the terminal shows colours, too: NO_COLOR is unset or empty. */
bool mtlm_short_line_colours(int fd);

#endif /* MTLM_SHORT_LINE_H */
