#ifndef MTLM_OPTION_JITTER_H
#define MTLM_OPTION_JITTER_H

/* The value of --jitter:
 * SIGMA[,transient=CHANCExTIMES][,rank=RANK:TIMES]... */

#include <stdio.h>

#include "graph/predict/noise.h"

/* What a value must be, for messages. */
#define MTLM_OPTION_JITTER_FORM                                                \
    "SIGMA[,transient=CHANCExTIMES][,rank=RANK:TIMES]..., SIGMA and CHANCE "   \
    "from 0 to 1, TIMES from 0.01 to 1000, at most 16 ranks, each once"

/* Sets *noise to the value.  Returns whether the text is such a value, of at
 * most MTLM_NOISE_RANKS ranks, none of them twice. */
bool mtlm_option_jitter_parse(const char *text, struct mtlm_noise *noise);

/* Writes a value that reads back as the same noise. */
void mtlm_option_jitter_write(const struct mtlm_noise *noise, FILE *out);

#endif /* MTLM_OPTION_JITTER_H */
