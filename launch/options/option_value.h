#ifndef MTLM_OPTION_VALUE_H
#define MTLM_OPTION_VALUE_H

#include <stdio.h>

#include "launch/options/option_table.h"

/* Values of options: from text, with every limit checked, and back. */

/* Sets the option's field from text, and records source.  label: the option's
 * name in the error.  Returns -1 and sets *err if text is no allowed value. */
int mtlm_option_value_set(struct mtlm_options *options,
                          enum mtlm_option_id option, const char *text,
                          enum mtlm_option_source source, const char *label,
                          struct mtlm_error *err);

/* Returns whether the option, a text, can have that value: no control
 * characters, no " ;", no blanks at its ends, not too long. */
bool mtlm_option_value_fits(enum mtlm_option_id option, const char *text);

/* Writes the value in the form that mtlm_option_value_set() reads. */
void mtlm_option_value_write(const struct mtlm_options *options,
                             enum mtlm_option_id option, FILE *out);

/* Returns the text that mtlm_option_value_write() writes.  The caller frees the
 * text. */
char *mtlm_option_value_text(const struct mtlm_options *options,
                             enum mtlm_option_id option);

/* Returns whether the option has no value: neither given nor derived. */
bool mtlm_option_value_absent(const struct mtlm_options *options,
                              enum mtlm_option_id option);

#endif /* MTLM_OPTION_VALUE_H */
