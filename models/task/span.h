#ifndef MTLM_SPAN_H
#define MTLM_SPAN_H

#include "models/task/squad.h"

/* Settings of google-research/bert. */
enum {
    MTLM_SPAN_BEST = 20,    /* begins and ends of answers that are looked at */
    MTLM_SPAN_LONGEST = 30, /* tokens of an answer */
};

/* The most likely answer in a window, and the sum of the logits of no answer.
 * Plain numbers: ranks may send them. */
struct mtlm_span {
    int64_t first, last; /* tokens of the document; -1: no answer is possible */
    double start, end;   /* logits of the first and last token */
    double null;
};

/* Returns the most likely answer in a window, numbered by the files' order.
 * start and end [seq_length] are the logits of its sequence.
 *
 * An answer begins at one of the MTLM_SPAN_BEST most likely begins and ends at
 * one of the most likely ends, within the document.  Of all windows that hold
 * its first token, this one has the most context on the shorter side.  The
 * answer has at most MTLM_SPAN_LONGEST tokens.  Equal answers: the earlier one
 * in this order of begins, then ends. */
struct mtlm_span mtlm_span_find(const struct mtlm_squad *squad, int64_t window,
                                const float *start, const float *end);

#endif /* MTLM_SPAN_H */
