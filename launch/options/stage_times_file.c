/* Reads the file of --stage-times: F, B and W of every virtual stage, and the
 * time of a message. */

#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/stage_times_file.h"
#include "launch/options/suggest.h"
#include "runtime/base/memory.h"
#include "runtime/file/ini_file.h"

enum { KEYS = 3, MOST_STAGES = 32768 };

static const char *const key_name[KEYS] = {"forward_ms", "backward_ms",
                                           "weight_ms"};
static const double least_ms = 1e-3, most_ms = 1e6, most_us = 1e9;

/* What the file says of a stage; line 0: not given. */
struct stage_entry {
    double ms[KEYS];
    int line[KEYS];
};

struct times_reading {
    struct stage_entry *stage; /* [stages] */
    int stages;
    double hop_us;
    int hop_line;
};

/* Reads a stage number.  Returns the text after the number, or NULL. */
static const char *read_number(const char *at, int *number)
{
    char *end;
    long value;

    if (!isdigit((unsigned char) *at))
        return NULL;
    value = strtol(at, &end, 10);
    if (value >= MOST_STAGES)
        return NULL;
    *number = (int) value;
    return end;
}

/* Reads "stage K" or "stage A-B". */
static bool read_stages(const char *section, int *first, int *last)
{
    const char *at = section;

    if (strncmp(at, "stage ", 6) != 0 || !(at = read_number(at + 6, first)))
        return false;
    *last = *first;
    if (*at == '-' && !(at = read_number(at + 1, last)))
        return false;
    return *at == '\0' && *first <= *last;
}

static int refuse_key(const char *section, const char *name,
                      const char *const *known, int n, struct mtlm_error *err)
{
    struct mtlm_suggest nearest = {.name = name};

    for (int i = 0; i < n; i++)
        mtlm_suggest_offer(&nearest, known[i]);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "unknown key %s in section [%s]%s%s%s", name,
        section, nearest.best ? "; did you mean " : "",
        nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

/* Reads a number.  This form of the test refuses NaN. */
static bool read_value(const char *text, double least, double most,
                       double *value)
{
    char *end;

    errno = 0;
    *value = strtod(text, &end);
    return end != text && !*end && !errno && *value >= least && *value <= most;
}

static int add_hop(struct times_reading *r, int line, const char *name,
                   const char *value, struct mtlm_error *err)
{
    static const char *const known[] = {"latency_us"};

    if (strcmp(name, known[0]) != 0)
        return refuse_key("hop", name, known, 1, err);
    if (r->hop_line)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s is given already in line %d", name,
                              r->hop_line);
    if (!read_value(value, 0, most_us, &r->hop_us))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "hop: %s is '%.40s', it must be a number from 0 "
                              "to %g",
                              name, value, most_us);
    r->hop_line = line;
    return 0;
}

static void add_stages(struct times_reading *r, int stages)
{
    if (stages <= r->stages)
        return;
    r->stage = mtlm_realloc(r->stage, stages, sizeof(*r->stage));
    memset(&r->stage[r->stages], 0, (stages - r->stages) * sizeof(*r->stage));
    r->stages = stages;
}

static int add_entry(void *user, int line, const char *section,
                     const char *name, const char *value,
                     struct mtlm_error *err)
{
    struct times_reading *r = user;
    int first, last, key = 0;
    double ms;

    if (strcmp(section, "hop") == 0)
        return add_hop(r, line, name, value, err);
    if (!read_stages(section, &first, &last))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s of section [%.40s]; there are the sections "
                              "[stage K], [stage A-B] and [hop]",
                              name, section);
    while (key < KEYS && strcmp(key_name[key], name) != 0)
        key++;
    if (key == KEYS)
        return refuse_key(section, name, key_name, KEYS, err);
    if (!read_value(value, least_ms, most_ms, &ms))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: %s is '%.40s', it must be a number from %g "
                              "to %g",
                              section, name, value, least_ms, most_ms);
    add_stages(r, last + 1);
    for (int k = first; k <= last; k++) {
        if (r->stage[k].line[key])
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "stage %d: %s is given already in line %d", k,
                                  name, r->stage[k].line[key]);
        r->stage[k].line[key] = line;
        r->stage[k].ms[key] = ms;
    }
    return 0;
}

/* Refuses stages that the file leaves out. */
static int check_whole(const struct times_reading *r, const char *path,
                       struct mtlm_error *err)
{
    if (r->stages == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: names no stage; it needs a section [stage "
                              "K] for each virtual stage",
                              path);
    for (int k = 0; k < r->stages; k++)
        for (int key = 0; key < KEYS; key++)
            if (!r->stage[k].line[key])
                return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                      "%s: stage %d lacks %s; the last stage "
                                      "is %d",
                                      path, k, key_name[key], r->stages - 1);
    return 0;
}

int mtlm_stage_times_file_read(struct mtlm_stage_times *times, const char *path,
                               struct mtlm_error *err)
{
    struct times_reading r = {0};
    const struct mtlm_ini ini = {.path = path,
                                 .label = "--stage-times",
                                 .sections = true,
                                 .take = add_entry,
                                 .user = &r};
    int rc = mtlm_ini_file_read(&ini, err);

    if (rc == 0)
        rc = check_whole(&r, path, err);
    if (rc == 0) {
        *times = mtlm_stage_times_create(r.stages);
        times->hop = 1e-6 * r.hop_us;
        for (int k = 0; k < r.stages; k++) {
            times->forward[k] = 1e-3 * r.stage[k].ms[0];
            times->backward[k] = 1e-3 * r.stage[k].ms[1];
            times->weight[k] = 1e-3 * r.stage[k].ms[2];
        }
    }
    free(r.stage);
    return rc;
}
