#ifndef MTLM_HELP_TEXT_H
#define MTLM_HELP_TEXT_H

#include <stdio.h>

/* Prints --help. */

void mtlm_help_text_print(FILE *out);

#endif /* MTLM_HELP_TEXT_H */
