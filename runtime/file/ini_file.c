/* Reads INI files line by line, strictly: what it cannot keep whole is an error
 * with file and line. */

#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ini.h>

#include "runtime/file/ini_file.h"

struct ini_reading {
    const struct mtlm_ini *ini;
    FILE *file;
    int line; /* read last, from 1 */
    bool failed;
    struct mtlm_error *err;
};

static void fail(struct ini_reading *r, const char *reason)
{
    mtlm_error_set(r->err, MTLM_EXIT_USAGE, "%s:%d: %s", r->ini->path, r->line,
                   reason);
    r->failed = true;
}

/* Checks one line for inih, which would silently cut it, join it to the line
 * before, or skip it. */
static char *read_line(char *text, int size, void *stream)
{
    struct ini_reading *r = stream;
    int n = 0, c = 0;

    if (r->failed)
        return NULL;
    r->line++;
    while (c != '\n' && (c = getc(r->file)) != EOF) {
        if (!c)
            return fail(r, "a zero byte; is this a text file?"), NULL;
        if (n == size - 1 || (n == MTLM_INI_LONGEST && c != '\n')) {
            char reason[64];

            snprintf(reason, sizeof(reason),
                     "longer than %d characters, the most there may be",
                     MTLM_INI_LONGEST);
            return fail(r, reason), NULL;
        }
        if (n || !isspace(c) || c == '\n')
            text[n++] = (char) c;
    }
    text[n] = '\0';
    if (text[0] == '[' && !r->ini->sections)
        return fail(r, "a [section], which this file cannot have"), NULL;
    return n ? text : NULL;
}

static int take_entry(void *user, const char *section, const char *key,
                      const char *value)
{
    struct ini_reading *r = user;
    const struct mtlm_ini *ini = r->ini;

    if (r->failed)
        return 0;
    if (ini->take(ini->user, r->line, section, key, value, r->err) == 0)
        return 1;
    mtlm_error_prefix(r->err, "%s:%d", ini->path, r->line);
    r->failed = true;
    return 0;
}

int mtlm_ini_file_read(const struct mtlm_ini *ini, struct mtlm_error *err)
{
    struct ini_reading r = {.ini = ini, .err = err};
    int rc;

    r.file = fopen(ini->path, "re");
    if (!r.file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE, "%s %s: %s", ini->label,
                              ini->path, strerror(errno));
    rc = ini_parse_stream(read_line, &r, take_entry, &r);
    if (!r.failed && ferror(r.file)) {
        mtlm_error_set(err, MTLM_EXIT_USAGE, "%s %s: %s", ini->label, ini->path,
                       strerror(errno));
        r.failed = true;
    }
    fclose(r.file);
    if (r.failed)
        return -1;
    if (rc)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s:%d: not of the form key = value", ini->path,
                              rc);
    return 0;
}
