#ifndef MTLM_INI_FILE_H
#define MTLM_INI_FILE_H

#include <stdbool.h>

#include "runtime/base/error.h"

/* Files of lines key = value, some with [sections], read strictly: nothing is
 * cut off, joined or left out silently. */
struct mtlm_ini {
    const char *path;
    const char *label; /* names path in an error: "--config" */
    bool sections;     /* whether the file may have them */
    /* Called for each entry, line counted from 1; section "" before the first
     * one.  Returns 0, or -1 with the reason in err, to which file and line
     * are added. */
    int (*take)(void *user, int line, const char *section, const char *key,
                const char *value, struct mtlm_error *err);
    void *user;
};

/* Reads the file; the first error ends it. */
int mtlm_ini_file_read(const struct mtlm_ini *ini, struct mtlm_error *err);

#endif /* MTLM_INI_FILE_H */
