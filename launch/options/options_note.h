#ifndef MTLM_OPTIONS_NOTE_H
#define MTLM_OPTIONS_NOTE_H

#include "launch/options/options.h"

/* Notes for the user: how the program understood the options. */

/* Adds a sentence to options->notes, unless the sentence is there already. */
void mtlm_options_note(struct mtlm_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* MTLM_OPTIONS_NOTE_H */
