/* Reads the description of a machine for synthetic runs. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/suggest.h"
#include "launch/plan/cluster.h"
#include "runtime/base/dtype.h"
#include "runtime/file/ini_file.h"

enum form {
    REAL,
    WHOLE, /* a whole number; the field is an int64_t */
    POWER, /* a power of two */
};

static const char *const form_name[] = {
    [REAL] = "number", [WHOLE] = "whole number", [POWER] = "power of two"};

/* A key of the file: value * unit goes to the field, a double. */
struct key {
    const char *section, *name;
    size_t offset;
    double unit, min, max;
    bool needed; /* required in its section */
    enum form form;
};

#define KEY_OF(form, section, name, field, ...)                                \
    {                                                                          \
        section, name, offsetof(struct mtlm_cluster, field), __VA_ARGS__, form \
    }
#define KEY(...) KEY_OF(REAL, __VA_ARGS__)

static const struct key keys[] = {
    KEY("device", "peak_tflop_per_s", flops_per_s, 1e12, 1e-6, 1e9, true),
    KEY("device", "efficiency", efficiency, 1, 1e-6, 1, true),
    KEY("device", "memory_gb", memory_bytes, 1e9, 1e-3, 1e6, false),
    KEY("device", "memory_gb_per_s", bytes_per_s, 1e9, 1e-3, 1e9, true),
    KEY("device", "memory_efficiency", memory_efficiency, 1, 1e-6, 1, false),
    KEY_OF(WHOLE, "device", "processors", processors, 1, 1, 65536, false),
    KEY("device", "product_fill", product_fill, 1, 0, 1e6, false),
    KEY("device", "host_us", host_s, 1e-6, 0, 1e6, false),
    KEY("device", "overlap_tax", overlap_tax, 1, 0, 1, false),
    KEY("device", "launch_us", launch_s, 1e-6, 0, 1e6, false),
    KEY_OF(POWER, "device", "element_bytes", element_bytes, 1, 1, 8, false),
    KEY("stage", "forward_ms", forward_s, 1e-3, 1e-3, 1e6, true),
    KEY("stage", "backward_ms", backward_s, 1e-3, 1e-3, 1e6, true),
    KEY("stage", "weight_ms", weight_s, 1e-3, 1e-3, 1e6, true),
    KEY("host", "latency_us", host.latency_s, 1e-6, 0, 1e9, true),
    KEY("host", "gb_per_s", host.bytes_per_s, 1e9, 1e-9, 1e9, false),
    KEY("host", "memory_gb", host_memory_bytes, 1e9, 1e-3, 1e6, false),
    KEY_OF(WHOLE, "network", "devices", devices, 1, 1, 65536, true),
    KEY_OF(WHOLE, "network", "hosts", hosts, 1, 1, 1e6, false),
    KEY("network", "latency_us", network.latency_s, 1e-6, 0, 1e9, true),
    KEY("network", "gb_per_s", network.bytes_per_s, 1e9, 1e-9, 1e9, false),
    KEY("network", "collective_gb_per_s", collective_bytes_per_s, 1e9, 1e-9,
        1e9, false),
    KEY("network", "shared_rate", shared_rate, 1, 1e-3, 1, false),
    KEY("disk", "read_gb_per_s", disk.read_bytes_per_s, 1e9, 1e-9, 1e9, true),
    KEY("disk", "write_gb_per_s", disk.written_bytes_per_s, 1e9, 1e-9, 1e9,
        true),
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

struct reading {
    struct mtlm_cluster *cluster;
    int line[KEYS]; /* line of the entry; 0: not read */
};

static int unknown(const char *section, const char *name,
                   struct mtlm_error *err)
{
    struct mtlm_suggest nearest = {.name = name};
    bool known = false;

    for (int i = 0; i < KEYS; i++)
        if (strcmp(keys[i].section, section) == 0) {
            known = true;
            mtlm_suggest_offer(&nearest, keys[i].name);
        }
    if (!known)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s of section [%s]; there are the sections "
                              "device, stage, host, network and disk",
                              name, section);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE, "unknown key %s in section [%s]%s%s%s", name,
        section, nearest.best ? "; did you mean " : "",
        nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

static void set(struct mtlm_cluster *cluster, const struct key *key,
                double value)
{
    void *field = (char *) cluster + key->offset;

    if (key->form == WHOLE)
        *(int64_t *) field = (int64_t) value;
    else
        *(double *) field = value * key->unit;
}

/* Returns whether the number is in the key's range, which NaN is not, and has
 * the key's form. */
static bool suits(const struct key *key, double number)
{
    int exponent;

    return number >= key->min && number <= key->max
           && (key->form != WHOLE || number == (int64_t) number)
           && (key->form != POWER || frexp(number, &exponent) == 0.5);
}

static int add_entry(void *user, int line, const char *section,
                     const char *name, const char *value,
                     struct mtlm_error *err)
{
    struct reading *r = user;
    double number;
    char *end;
    int i = 0;

    while (i < KEYS
           && (strcmp(keys[i].section, section) || strcmp(keys[i].name, name)))
        i++;
    if (i == KEYS)
        return unknown(section, name, err);
    if (r->line[i])
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s is given already in line %d", name,
                              r->line[i]);
    errno = 0;
    number = strtod(value, &end);
    if (end == value || *end || errno || !suits(&keys[i], number))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE, "%s is '%s', it must be a %s from %g to %g",
            name, value, form_name[keys[i].form], keys[i].min, keys[i].max);
    r->line[i] = line;
    set(r->cluster, &keys[i], number);
    return 0;
}

static bool has(const struct reading *r, const char *section)
{
    for (int i = 0; i < KEYS; i++)
        if (r->line[i] && strcmp(keys[i].section, section) == 0)
            return true;
    return false;
}

static bool given(const struct reading *r, const char *name)
{
    for (int i = 0; i < KEYS; i++)
        if (r->line[i] && strcmp(keys[i].name, name) == 0)
            return true;
    return false;
}

/* Refuses keys that have no effect. */
static int check_effect(const struct reading *r, const char *path,
                        struct mtlm_error *err)
{
    if (given(r, "product_fill") && !given(r, "processors"))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s: product_fill of section [device] needs processors", path);
    if (given(r, "shared_rate") && !given(r, "collective_gb_per_s"))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: shared_rate of section [network] needs "
                              "collective_gb_per_s",
                              path);
    if (given(r, "processors") && has(r, "stage"))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: processors of section [device] contradicts "
                              "section [stage], which gives the durations",
                              path);
    return 0;
}

static int check(const struct reading *r, const char *path,
                 struct mtlm_error *err)
{
    for (int i = 0; i < KEYS; i++)
        if (keys[i].needed && !r->line[i] && has(r, keys[i].section))
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "%s: section [%s] lacks %s", path,
                                  keys[i].section, keys[i].name);
    if (has(r, "device") || has(r, "stage"))
        return check_effect(r, path, err);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "%s: needs a section [device] or [stage], the durations of computation",
        path);
}

int mtlm_cluster_read(struct mtlm_cluster *cluster, const char *path,
                      const char *label, struct mtlm_error *err)
{
    struct reading r = {.cluster = cluster};
    const struct mtlm_ini ini = {.path = path,
                                 .label = label,
                                 .sections = true,
                                 .take = add_entry,
                                 .user = &r};

    *cluster = (struct mtlm_cluster){.memory_efficiency = 1,
                                     .element_bytes = sizeof(mtlm_real)};
    if (mtlm_ini_file_read(&ini, err) < 0 || check(&r, path, err) < 0)
        return -1;
    cluster->timed = has(&r, "stage");
    cluster->host.given = has(&r, "host");
    cluster->network.given = has(&r, "network");
    return 0;
}
