#ifndef MTLM_SHELL_WORD_H
#define MTLM_SHELL_WORD_H

#include <stdio.h>

/* Writes text as one word of a shell command, quoted where a shell would read
 * something else. */
void mtlm_shell_word_print(const char *text, FILE *out);

#endif /* MTLM_SHELL_WORD_H */
