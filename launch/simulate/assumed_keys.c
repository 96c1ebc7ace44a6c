/* Finds the numbers of a cluster file that its comments call assumed, or
 * fitted. */

#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/simulate/assumed_keys.h"
#include "runtime/base/memory.h"

struct assumed {
    const char *word;
    char section[32];
    bool above; /* the comment above has the word */
    char *keys; /* found so far, or NULL */
};

static bool is_comment(const char *line)
{
    return *line == '#' || *line == ';';
}

/* Adds the key of the line "key = value". */
static void add_key(struct assumed *a, const char *line)
{
    const int length = strcspn(line, " \t=");
    const bool ambiguous = strncmp(line, "latency_us", length) == 0
                           || strncmp(line, "gb_per_s", length) == 0
                           || strncmp(line, "memory_gb", length) == 0;
    char *key = ambiguous
                    ? mtlm_sprintf("%.*s of [%s]", length, line, a->section)
                    : mtlm_sprintf("%.*s", length, line);

    a->keys = mtlm_join(a->keys, ", ", key);
    free(key);
}

static void read_line(struct assumed *a, const char *line)
{
    const bool word = strcasestr(line, a->word) != NULL;

    while (isspace((unsigned char) *line))
        line++;
    if (is_comment(line)) {
        a->above |= word;
        return;
    }
    if (*line == '[')
        snprintf(a->section, sizeof(a->section), "%.*s",
                 (int) strcspn(line + 1, "]"), line + 1);
    else if (*line && (word || a->above))
        add_key(a, line);
    a->above = false;
}

char *mtlm_assumed_keys(const char *path, const char *word,
                        struct mtlm_error *err)
{
    struct assumed a = {.word = word};
    struct stat about;
    FILE *file;
    char *line = NULL;
    size_t room = 0;

    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return mtlm_strdup("unknown, a pipe cannot be read twice");
    file = fopen(path, "re");
    if (!file) {
        mtlm_error_set(err, MTLM_EXIT_USAGE, "--simulate %s: %s", path,
                       strerror(errno));
        return NULL;
    }
    while (getline(&line, &room, file) >= 0)
        read_line(&a, line);
    free(line);
    fclose(file);
    return a.keys ? a.keys : mtlm_strdup("");
}
