#ifndef MTLM_INI_FILE_H
#define MTLM_INI_FILE_H

#include <stdbool.h>

#include "runtime/base/error.h"

/* Characters of a line at most. */
enum { MTLM_INI_LONGEST = 198 };

/* Files of lines key = value, perhaps in [sections].  The reader is strict: it
 * never cuts, joins or skips a line silently. */
struct mtlm_ini {
    const char *path;
    const char *label; /* names the file in errors: "--config" */
    bool sections;     /* sections are allowed */
    /* Called for each entry; line counts from 1; section is "" before the first
     * section.  Returns 0, or -1 with the reason in err, to which the reader
     * adds file and line. */
    int (*take)(void *user, int line, const char *section, const char *key,
                const char *value, struct mtlm_error *err);
    void *user;
};

/* Reads the file until its end or the first error.  -1 with err. */
int mtlm_ini_file_read(const struct mtlm_ini *ini, struct mtlm_error *err);

#endif /* MTLM_INI_FILE_H */
