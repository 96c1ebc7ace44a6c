#ifndef MTLM_OPTION_NUMBER_H
#define MTLM_OPTION_NUMBER_H

/* Numbers of options, from text and to text. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Sets *value to the whole number of the text, min .. max.  Returns whether the
 * text is such a number. */
bool mtlm_option_number_int(const char *text, double min, double max,
                            int64_t *value);

/* Sets *value to the decimal number of the text, min .. max: no "nan", "inf" or
 * hexadecimal.  Returns whether the text is such a number. */
bool mtlm_option_number_real(const char *text, double min, double max,
                             double *value);

/* Writes the shortest text that reads back as the same number. */
void mtlm_option_number_write(double value, FILE *out);

#endif /* MTLM_OPTION_NUMBER_H */
