/* Chooses the BLAS: measures those of the machine, keeps the choice. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runtime/amx/amx_kernel.h"
#include "runtime/base/memory.h"
#include "runtime/file/cache_path.h"
#include "runtime/file/disk.h"
#include "runtime/file/json_file.h"
#include "runtime/file/output_file.h"
#include "runtime/machine/blas.h"
#include "runtime/machine/blas_choice.h"
#include "runtime/machine/blas_core.h"

/* Number of the way of measuring.  Choices that another way made count no more.
 */
enum { METHOD = 3 };

/* Another library must be faster than the default by this factor. */
static const double gain = 1.03;

/* Variables that forbid instructions to libraries. */
static const char *const limits[] = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
                                     "MKL_ENABLE_INSTRUCTIONS"};

/* Replaces all but ASCII: JSON refuses a text that is not UTF-8. */
static void make_ascii(char *text)
{
    for (; *text; text++)
        if ((unsigned char) *text > 127)
            *text = '?';
}

/* Describes the processor, with the instructions that libraries look for.  The
 * caller frees the text. */
static char *describe_processor(void)
{
    char line[256], name[128] = "", features[64] = "", *text;
    FILE *file = fopen("/proc/cpuinfo", "r");
    struct utsname system = {0};

    while (file && !*name && fgets(line, sizeof(line), file))
        if (sscanf(line, "model name : %127[^\n]", name) != 1)
            sscanf(line, "CPU part : %127[^\n]", name);
    if (file)
        fclose(file);
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    snprintf(features, sizeof(features), "%s%s%s",
             __builtin_cpu_supports("avx2") ? " avx2" : "",
             __builtin_cpu_supports("avx512f") ? " avx512f" : "",
             __builtin_cpu_supports("avx512vl") ? " avx512vl" : "");
#endif
    uname(&system);
    text = mtlm_sprintf("%s %s%s%s", system.machine, name, features,
                        mtlm_amx_allowed() ? " amx" : "");
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        const char *limit = getenv(limits[i]);

        if (limit && *limit)
            text = mtlm_join(text, " ", limit);
    }
    make_ascii(text);
    return text;
}

/* What the choice goes by. */
struct measured {
    char *processor;
    struct mtlm_blas_trial trial[MTLM_BLAS_NAMES]; /* flops 0: none */
    int choice;
};

/* Keeps the better speed of a library.  A library that fails has none, but a
 * version: the default keeps its place. */
static void measure_library(struct measured *m, int library)
{
    struct mtlm_blas_trial trial;
    struct mtlm_error err;

    if (library != MTLM_BLAS_DEFAULT
        && mtlm_blas_is_default(mtlm_blas_name[library]))
        return;
    if (mtlm_blas_try(mtlm_blas_name[library], true, &trial, &err) < 0)
        trial.flops = 0;
    if (!*m->trial[library].version || trial.flops > m->trial[library].flops)
        m->trial[library] = trial;
}

/* Libraries take turns: the speed of a processor changes meanwhile. */
static void measure(struct measured *m)
{
    enum { ROUNDS = 2 };

    memset(m->trial, 0, sizeof(m->trial));
    for (int i = 0; i < ROUNDS * MTLM_BLAS_NAMES; i++)
        measure_library(m, i % MTLM_BLAS_NAMES);
    m->choice = MTLM_BLAS_DEFAULT;
    for (int i = 0; i < MTLM_BLAS_NAMES; i++)
        if (m->trial[i].flops > (m->choice == MTLM_BLAS_DEFAULT ? gain : 1)
                                    * m->trial[m->choice].flops)
            m->choice = i;
}

/* Writes "default (OpenBLAS 0.3.21) 94, onednn (oneDNN 2.6.3) 97". */
static void list_speeds(const struct measured *m, char *text, size_t bytes)
{
    size_t at = 0;

    *text = '\0';
    for (int i = 0; i < MTLM_BLAS_NAMES && at < bytes; i++)
        if (m->trial[i].flops > 0)
            at +=
                (size_t) snprintf(text + at, bytes - at, "%s%s (%s) %.0f",
                                  at ? ", " : "", mtlm_blas_name[i],
                                  m->trial[i].version, m->trial[i].flops / 1e9);
}

/* ---- the file: a list of entries, one for each processor ---- */

#define LIST "processors"

/* Whether the JSON value is an entry. */
static bool is_entry(const json_t *entry)
{
    return mtlm_json_file_text(entry, "processor")
           && mtlm_json_file_text(entry, "choice");
}

/* Returns the entries of the file, a new reference; NULL with a reason:
 * MTLM_EXIT_IO, the file may be a good one.  Leaves out what is no entry.  A
 * file of an earlier version is one entry. */
static json_t *read_list(const char *path, struct mtlm_error *err)
{
    struct mtlm_error why;
    json_t *all = mtlm_json_file_read(path, &why), *list;

    if (!all) {
        mtlm_error_set(err, why.code, "cannot be read: %.300s", why.text);
        return NULL;
    }
    list = json_incref(json_object_get(all, LIST));
    if (!list)
        list = json_pack("[O]", all);
    json_decref(all);
    for (size_t i = json_array_size(list); i > 0; i--)
        if (!is_entry(json_array_get(list, i - 1)))
            json_array_remove(list, i - 1);
    if (json_array_size(list) > 0)
        return list;
    json_decref(list);
    mtlm_error_set(err, MTLM_EXIT_INPUT, "is no choice of a BLAS");
    return NULL;
}

/* Returns the place of the processor's entry in the list; the size of the list:
 * none. */
static size_t find_entry(const json_t *list, const char *processor)
{
    const size_t n = json_array_size(list);
    size_t i = 0;

    while (i < n
           && strcmp(mtlm_json_file_text(json_array_get(list, i), "processor"),
                     processor)
                  != 0)
        i++;
    return i;
}

/* Returns a new entry. */
static json_t *make_entry(const struct measured *m)
{
    json_t *libraries = json_object();

    for (int i = 0; i < MTLM_BLAS_NAMES; i++)
        if (i == MTLM_BLAS_DEFAULT || m->trial[i].flops > 0)
            json_object_set_new(libraries, mtlm_blas_name[i],
                                json_pack("{s:s, s:f}", "version",
                                          m->trial[i].version, "flops",
                                          m->trial[i].flops));
    return json_pack("{s:i, s:s, s:s, s:o}", "method", METHOD, "processor",
                     m->processor, "choice", mtlm_blas_name[m->choice],
                     "libraries", libraries);
}

/* Returns the text of the file with the new entry.  Entries of other processors
 * stay: machines may share the file.  Replaces a broken file; NULL with the
 * reason: the file cannot be read now.  The caller frees the text. */
static char *file_text(const struct measured *m, const char *path,
                       struct mtlm_error *err)
{
    json_t *list = read_list(path, err), *all;
    char *text;
    int rc;

    if (!list && err->code == MTLM_EXIT_IO)
        return NULL;
    if (!list)
        list = json_array();
    json_array_remove(list, find_entry(list, m->processor));
    rc = json_array_append_new(list, make_entry(m));
    all = json_pack("{s:o}", LIST, list);
    text = json_dumps(all, JSON_INDENT(2));
    if (rc < 0 || !all || !text)
        mtlm_out_of_memory(0);
    json_decref(all);
    return text;
}

/* Writes the file; returns -1 with the reason.  Where two machines write at
 * once, one entry is lost, and its machine measures again. */
static int keep(const struct measured *m, const char *path,
                struct mtlm_error *err)
{
    char *text = file_text(m, path, err), *dir;
    int rc;

    if (!text)
        return -1;
    dir = mtlm_strdup(path);
    *strrchr(dir, '/') = '\0';
    if (mtlm_disk_make_path(dir) < 0)
        rc = mtlm_disk_cannot_make(dir, err);
    else
        rc = mtlm_output_file_write_text(path, text, err);
    free(text);
    free(dir);
    return rc;
}

/* Returns the index of the entry's choice; -1 with a reason. */
static int take_choice(const json_t *entry, struct mtlm_error *err)
{
    const char *choice = mtlm_json_file_text(entry, "choice");

    for (int i = 0; i < MTLM_BLAS_NAMES; i++) {
        if (strcmp(choice, mtlm_blas_name[i]) != 0)
            continue;
        if (json_integer_value(json_object_get(entry, "method")) != METHOD)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "was measured by another version");
        return i;
    }
    return mtlm_error_set(err, MTLM_EXIT_INPUT, "is no choice of a BLAS");
}

/* Whether a library of the entry is still the one that was measured. */
static int check_version(const json_t *entry, int library,
                         struct mtlm_error *err)
{
    const char *name = mtlm_blas_name[library];
    const char *version = mtlm_json_file_text(
        json_object_get(json_object_get(entry, "libraries"), name), "version");
    struct mtlm_blas_trial trial = {.version = ""};
    struct mtlm_error why;

    if (library == MTLM_BLAS_DEFAULT)
        mtlm_blas_core_describe(trial.version, sizeof(trial.version));
    else if (mtlm_blas_try(name, false, &trial, &why) < 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT, "no longer holds: %.300s",
                              why.text);
    if (version && strcmp(version, trial.version) == 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "no longer holds: %s is %.100s now", name,
                          trial.version);
}

/* Returns the choice that is kept; -1 with a reason: none that counts. */
static int read_choice(const char *path, const char *processor,
                       struct mtlm_error *err)
{
    json_t *list = read_list(path, err);
    const json_t *entry;
    int choice = -1;

    if (!list)
        return -1;
    entry = json_array_get(list, find_entry(list, processor));
    if (entry)
        choice = take_choice(entry, err);
    else
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "has choices of other processors only");
    if (choice >= 0
        && (check_version(entry, MTLM_BLAS_DEFAULT, err) < 0
            || (choice != MTLM_BLAS_DEFAULT
                && check_version(entry, choice, err) < 0)))
        choice = -1;
    json_decref(list);
    return choice;
}

/* Measures, keeps the choice in path unless NULL, and says so in note.  Takes
 * what another job has kept meanwhile, unless anew.  before: why the kept
 * choice does not count, or an empty text. */
static int choose_anew(char *processor, const char *path, bool anew,
                       const char *before, char *note, size_t bytes)
{
    struct measured m = {.processor = processor};
    struct mtlm_error err = {.text = ""};
    char speeds[512];
    bool kept = false;
    int there;

    measure(&m);
    there = path && !anew ? read_choice(path, processor, &err) : -1;
    if (there >= 0)
        return there;
    if (m.trial[MTLM_BLAS_DEFAULT].flops <= 0)
        mtlm_error_set(&err, MTLM_EXIT_RESOURCE,
                       "the default was not measured");
    else
        kept = path && keep(&m, path, &err) == 0;
    list_speeds(&m, speeds, sizeof(speeds));
    snprintf(note, bytes,
             "%sBLAS: %s, chosen by measurement; GF/s of a core: %s; %s%s",
             before, mtlm_blas_name[m.choice], speeds,
             kept ? "kept in " : "not kept: ",
             kept   ? path
             : path ? err.text
                    : "no HOME");
    return m.choice;
}

int mtlm_blas_choice_find(bool anew, char *note, size_t bytes)
{
    char *path = mtlm_cache_path("blas.json"), *processor, *before = NULL;
    struct mtlm_error err;
    int choice = -1;

    *note = '\0';
    if (!path && !anew)
        return MTLM_BLAS_DEFAULT;
    processor = describe_processor();
    if (!anew && access(path, F_OK) == 0) {
        choice = read_choice(path, processor, &err);
        if (choice < 0)
            before = mtlm_sprintf("%s %s: measured again\n", path, err.text);
    }
    if (choice < 0)
        choice = choose_anew(processor, path, anew, before ? before : "", note,
                             bytes);
    free(before);
    free(processor);
    free(path);
    return choice;
}

int mtlm_blas_choice_kept(void)
{
    char *path = mtlm_cache_path("blas.json"), *processor;
    struct mtlm_error err;
    int choice;

    if (!path)
        return MTLM_BLAS_DEFAULT;
    processor = describe_processor();
    choice = read_choice(path, processor, &err);
    free(processor);
    free(path);
    return choice < 0 ? MTLM_BLAS_DEFAULT : choice;
}
