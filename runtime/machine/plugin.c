/* Chooses the scheduling policy of StarPU: of a library, of this program, or of
 * StarPU; refuses libraries built for something else. */

#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include "runtime/base/memory.h"
#include "runtime/machine/machine.h"
#include <mtlm/policy.h>
#include "runtime/machine/plugin.h"
#include "runtime/machine/policy_guard.h"

typedef struct starpu_sched_policy **list_policies(void);
typedef struct starpu_sched_policy *get_policy(const char *name);

static bool used; /* the policy in force is the library's */

/* The policy where STARPU_SCHED names none. */
static const char *preferred = MTLM_DEFAULT_POLICY;

/* The functions of a loaded library. */
struct library {
    list_policies *list; /* NULL: absent */
    get_policy *get;     /* NULL: no library */
};

static const char *variable_of(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

/* Returns the name in STARPU_SCHED, or the last one that was there; NULL: none.
 * mtlm_plugin_choose() takes the variable away.  Earlier names stay: a caller
 * may hold one. */
static const char *named(void)
{
    static char **known, *last;
    static int n;
    const char *now = variable_of("STARPU_SCHED");

    if (!now || (last && strcmp(last, now) == 0))
        return last;
    for (int i = 0; i < n; i++)
        if (strcmp(known[i], now) == 0)
            return last = known[i];
    known = mtlm_realloc(known, n + 1, sizeof(*known));
    return last = known[n++] = mtlm_strdup(now);
}

const char *mtlm_plugin_wanted(void)
{
    return named() ? named() : preferred;
}

bool mtlm_plugin_hold_share(double *share)
{
    const char *text = variable_of("MTLM_HOLD");
    double value;
    char *end;

    if (!text)
        return false;
    value = strtod(text, &end);
    if (*end || !(value >= 0 && value <= 10))
        return false;
    *share = value;
    return true;
}

/* Whether the workers of this StarPU ask again for a task after a wait.  Those
 * of --enable-blocking-drivers sleep. */
static bool workers_poll(void)
{
#ifdef STARPU_NON_BLOCKING_DRIVERS
    return true;
#else
    return false;
#endif
}

bool mtlm_plugin_may_hold(void)
{
    double share;

    return workers_poll() && !(mtlm_plugin_hold_share(&share) && share == 0);
}

bool mtlm_plugin_holds(void)
{
    return strcmp(mtlm_plugin_wanted(), MTLM_HOLD_POLICY) == 0
           && mtlm_plugin_may_hold();
}

bool mtlm_plugin_is_free(void)
{
    return workers_poll() && !named() && !mtlm_plugin_file();
}

void mtlm_plugin_prefer(const char *name)
{
    preferred = name;
}

const char *mtlm_plugin_file(void)
{
    return variable_of("STARPU_SCHED_LIB");
}

const char *mtlm_plugin_used(void)
{
    return used ? mtlm_plugin_file() : NULL;
}

static struct starpu_sched_policy *find_policy(
    struct starpu_sched_policy *const *policy, const char *name)
{
    for (; policy && *policy; policy++)
        if (strcmp((*policy)->policy_name, name) == 0)
            return *policy;
    return NULL;
}

/* Writes "a, b, c" to text [size]; returns text. */
static const char *list_names(struct starpu_sched_policy *const *policy,
                              char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (; policy && *policy && n < size; policy++)
        n += snprintf(text + n, size - n, "%s%s", n ? ", " : "",
                      (*policy)->policy_name);
    return text;
}

/* The libraries of StarPU in this process. */
struct starpus {
    int n;
    const char *last; /* path of the library loaded last, or NULL */
};

static int count_starpu(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct starpus *starpus = arg;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;

    (void) size;
    if (strncmp(name, "libstarpu-", strlen("libstarpu-")) == 0) {
        starpus->n++;
        starpus->last = info->dlpi_name;
    }
    return 0;
}

static struct starpus loaded_starpus(void)
{
    struct starpus starpus = {0, NULL};

    dl_iterate_phdr(count_starpu, &starpus);
    return starpus;
}

static int check_stamp(const char *file, const struct mtlm_policy_stamp *stamp,
                       struct mtlm_error *err)
{
    int major, minor, release;

    if (stamp->version != MTLM_POLICY_VERSION)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "STARPU_SCHED_LIB=%s was built with version %d "
                              "of mtlm/policy.h, this program with %d: nodes "
                              "have other fields, and times another clock; "
                              "compile the library again",
                              file, stamp->version, MTLM_POLICY_VERSION);
    starpu_get_version(&major, &minor, &release);
    if (stamp->starpu_major != major || stamp->starpu_minor != minor)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "STARPU_SCHED_LIB=%s was built for StarPU %d.%d.%d, this is "
            "%d.%d.%d",
            file, stamp->starpu_major, stamp->starpu_minor,
            stamp->starpu_release, major, minor, release);
    if (stamp->virtual_time != MTLM_POLICY_VIRTUAL_TIME)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            stamp->virtual_time
                ? "STARPU_SCHED_LIB=%s was built for StarPU with SimGrid, "
                  "which "
                  "cannot train"
                : "STARPU_SCHED_LIB=%s was built for a StarPU that trains: "
                  "compile the library again with the headers of StarPU with "
                  "SimGrid",
            file);
    if (stamp->policy_bytes != sizeof(struct starpu_sched_policy)
        || stamp->task_bytes != sizeof(struct starpu_task))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "STARPU_SCHED_LIB=%s was built for a StarPU %d.%d.%d that was "
            "configured differently: its tasks have %zu bytes, here %zu",
            file, stamp->starpu_major, stamp->starpu_minor,
            stamp->starpu_release, (size_t) stamp->task_bytes,
            sizeof(struct starpu_task));
    return 0;
}

/* Loads a library and keeps it loaded.  StarPU loads the library, too, but
 * unloads it before the program ends, while functions may still be called. */
static void *open_library(const char *file, struct mtlm_error *err)
{
    const struct starpus own = loaded_starpus();
    struct starpus brought;
    void *handle;

    if (strchr(file, '/') && access(file, R_OK) < 0) {
        mtlm_error_set(err, MTLM_EXIT_USAGE, "STARPU_SCHED_LIB=%s: %s", file,
                       strerror(errno));
        return NULL;
    }
    handle = dlopen(file, RTLD_NOW);
    if (!handle) {
        mtlm_error_set(
            err, MTLM_EXIT_USAGE, "STARPU_SCHED_LIB=%s cannot be loaded: %s%s",
            file, dlerror(),
            strchr(file, '/') ? "" : " (a file of this directory is ./NAME)");
        return NULL;
    }
    /* The library may have brought another StarPU. */
    brought = loaded_starpus();
    if (brought.n > own.n) {
        mtlm_error_set(err, MTLM_EXIT_USAGE,
                       "STARPU_SCHED_LIB=%s was built for another StarPU: it "
                       "needs %s, this program has %s",
                       file, brought.last, own.last ? own.last : "its own");
        return NULL;
    }
    return handle;
}

static int load_library(struct library *library, int rank,
                        struct mtlm_error *err)
{
    const char *file = mtlm_plugin_file();
    const struct mtlm_policy_stamp *stamp;
    void *handle;

    if (!file)
        return 0;
    handle = open_library(file, err);
    if (!handle)
        return -1;
    *(void **) &library->get = dlsym(handle, "starpu_get_sched_lib_policy");
    *(void **) &library->list = dlsym(handle, "starpu_get_sched_lib_policies");
    if (!library->get)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "STARPU_SCHED_LIB=%s is no library of scheduling "
                              "policies: it has no function "
                              "starpu_get_sched_lib_policy",
                              file);
    stamp = dlsym(handle, "mtlm_policy_stamp");
    if (stamp)
        return check_stamp(file, stamp, err);
    if (rank == 0)
        mtlm_warn("STARPU_SCHED_LIB=%s does not say what it was built "
                  "for (MTLM_POLICY_PLUGIN): loaded unchecked",
                  file);
    return 0;
}

static int refuse_policy(const char *name, const struct library *library,
                         struct starpu_sched_policy *const *ours,
                         struct mtlm_error *err)
{
    char list[200], own[80], starpus[700];
    char theirs[PATH_MAX + sizeof(list)] = "";

    if (library->list)
        snprintf(theirs, sizeof(theirs), "%s has %s; ", mtlm_plugin_file(),
                 list_names(library->list(), list, sizeof(list)));
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "STARPU_SCHED=%s is no scheduling policy: %smtlm-dag has %s; StarPU "
        "has %s",
        name, theirs, list_names(ours, own, sizeof(own)),
        list_names(starpu_sched_get_predefined_policies(), starpus,
                   sizeof(starpus)));
}

int mtlm_plugin_choose(struct starpu_conf *conf,
                       struct starpu_sched_policy *const *ours, int rank,
                       struct mtlm_error *err)
{
    const char *name = mtlm_plugin_wanted();
    struct library library = {NULL, NULL};
    char theirs[400];

    /* Empty variables: StarPU would take its own default, and the program for a
     * library. */
    if (!variable_of("STARPU_SCHED"))
        unsetenv("STARPU_SCHED");
    if (!variable_of("STARPU_SCHED_LIB"))
        unsetenv("STARPU_SCHED_LIB");
    if (load_library(&library, rank, err) < 0)
        return -1;
    if (library.get && !variable_of("STARPU_SCHED"))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "STARPU_SCHED_LIB=%s is given, but not which of its policies: "
            "STARPU_SCHED=%s",
            mtlm_plugin_file(),
            library.list ? list_names(library.list(), theirs, sizeof(theirs))
                         : "NAME");
    conf->sched_policy_name = MTLM_DEFAULT_POLICY;
    used = library.get && library.get(name);
    /* A policy of the library, or of this program, whose name StarPU does not
     * know.  StarPU prefers this field to STARPU_SCHED. */
    conf->sched_policy =
        used ? mtlm_policy_guard(library.get(name)) : find_policy(ours, name);
    if (conf->sched_policy) {
        conf->sched_policy_name = NULL;
        unsetenv("STARPU_SCHED");
    }
    if (conf->sched_policy
        || find_policy(starpu_sched_get_predefined_policies(), name))
        return 0;
    return refuse_policy(name, &library, ours, err);
}
