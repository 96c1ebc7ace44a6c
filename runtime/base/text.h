#ifndef MTLM_BASE_TEXT_H
#define MTLM_BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Text in memory, written like a file. */
struct mtlm_text {
    FILE *file;
    char *text; /* ends with '\0' */
    size_t bytes, room;
};

/* Returns a file to write the text to.  *text must stay where it is until
 * mtlm_text_close().  Never NULL, and no write fails: running out of memory
 * ends the job. */
FILE *mtlm_text_open(struct mtlm_text *text);

/* Closes the file.  Returns the text, which the caller frees. */
char *mtlm_text_close(struct mtlm_text *text);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_BASE_TEXT_H */
