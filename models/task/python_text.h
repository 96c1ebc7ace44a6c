#ifndef MTLM_PYTHON_TEXT_H
#define MTLM_PYTHON_TEXT_H

/* Text as Python's str sees it: the tasks are defined by Python programs. */

#include <stdint.h>

/* Returns the bytes of the white space character (str.isspace()) with which
 * text [bytes >= 1] begins, or 0. */
int64_t mtlm_python_text_space(const char *text, int64_t bytes);

/* Leaves out white space at both ends of *text [*bytes], as str.strip(). */
void mtlm_python_text_strip(const char **text, int64_t *bytes);

/* Returns text with a blank for each run of white space and none at the ends,
 * as " ".join(text.split()); the caller frees the result. */
char *mtlm_python_text_squeeze(const char *text);

/* Returns the first byte of text [bytes] that is not UTF-8, or -1. */
int64_t mtlm_python_text_invalid(const char *text, int64_t bytes);

#endif /* MTLM_PYTHON_TEXT_H */
