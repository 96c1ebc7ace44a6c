#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "launch/config_file.h"
#include "launch/option.h"
#include "runtime/memory.h"

struct reading {
    struct mtlm_config *config;
    FILE *file;
    const char *path;
    int line; /* that was read last, from 1 */
    bool failed;
    struct mtlm_error *err;
};

static void fail(struct reading *r, const char *reason)
{
    mtlm_error_set(r->err, MTLM_EXIT_USAGE, "%s:%d: %s", r->path, r->line,
                   reason);
    r->failed = true;
}

/* One line for inih, which has no eye for these: what it would cut off
 * silently, take for more of the line before, or leave out. */
static char *read_line(char *text, int size, void *stream)
{
    struct reading *r = stream;
    int n = 0, c = 0;

    if (r->failed)
        return NULL;
    r->line++;
    while (c != '\n' && (c = getc(r->file)) != EOF) {
        if (!c)
            return fail(r, "a zero byte; is this a text file?"), NULL;
        if (n == size - 1) {
            char reason[64];

            snprintf(reason, sizeof(reason),
                     "longer than %d characters, the most there may be",
                     size - 2);
            return fail(r, reason), NULL;
        }
        if (n || !isspace(c) || c == '\n')
            text[n++] = (char) c;
    }
    text[n] = '\0';
    if (text[0] == '[')
        return fail(r, "a [section]; there are none in this file"), NULL;
    return n ? text : NULL;
}

static int take_entry(void *user, const char *section, const char *name,
                      const char *value)
{
    struct reading *r = user;
    struct mtlm_config *config = r->config;
    const int option = mtlm_option_find(name);

    (void) section; /* refused by read_line() */
    if (r->failed)
        return 0;
    if (option < 0) {
        mtlm_option_unknown("", name, r->err);
        mtlm_error_prefix(r->err, "%s:%d", r->path, r->line);
        r->failed = true;
        return 0;
    }
    if (!mtlm_option_in_file(option))
        return fail(r, "this option is for the command line only"), 0;
    for (int i = 0; i < config->n; i++)
        if (config->entry[i].option == option) {
            mtlm_error_set(r->err, MTLM_EXIT_USAGE,
                           "%s:%d: %s is given already in line %d", r->path,
                           r->line, name, config->entry[i].line);
            r->failed = true;
            return 0;
        }
    config->entry =
        mtlm_realloc(config->entry, config->n + 1, sizeof(*config->entry));
    config->entry[config->n++] = (struct mtlm_config_entry){
        .option = option, .line = r->line, .text = mtlm_strdup(value)};
    return 1;
}

int mtlm_config_read(struct mtlm_config *config, const char *path,
                     struct mtlm_error *err)
{
    struct reading r = {.config = config, .path = path, .err = err};
    int rc;

    *config = (struct mtlm_config){0};
    r.file = fopen(path, "re");
    if (!r.file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE, "--config %s: %s", path,
                              strerror(errno));
    rc = ini_parse_stream(read_line, &r, take_entry, &r);
    if (!r.failed && ferror(r.file)) {
        mtlm_error_set(err, MTLM_EXIT_USAGE, "--config %s: %s", path,
                       strerror(errno));
        r.failed = true;
    }
    fclose(r.file);
    if (r.failed)
        return -1;
    if (rc)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s:%d: not of the form key = value", path, rc);
    return 0;
}

void mtlm_config_free(struct mtlm_config *config)
{
    for (int i = 0; i < config->n; i++)
        free(config->entry[i].text);
    free(config->entry);
    *config = (struct mtlm_config){0};
}
