/* Checks the directory of StarPU's measurements before StarPU starts. */

#include "config.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/machine/cpu.h"
#include "runtime/machine/measurements.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Names the directory itself. */
static const char variable[] = "STARPU_PERF_MODEL_DIR";

/* The name that StarPU gives this host.  The caller frees the name. */
static char *name_of_host(void)
{
    const char *given = getenv("STARPU_HOSTNAME");
    char name[65] = "";

    if (given && *given)
        return mtlm_strdup(given);
    gethostname(name, sizeof(name) - 1);
    name[strcspn(name, ".")] = '\0';
    return mtlm_strdup(name);
}

/* Reads the number of processors of a measurement; 0: no such file. */
static int read_processors(const char *path)
{
    FILE *file = fopen(path, "r");
    int n = 0;

    if (!file)
        return 0;
    if (fscanf(file, "#%*[^\n] %d", &n) != 1)
        n = 0;
    fclose(file);
    return n;
}

/* Whether StarPU measured this host, and does not measure again. */
static bool is_measured(const char *bus)
{
    static const char *const parts[] = {"affinity", "latency", "bandwidth"};
    const char *again = getenv("STARPU_BUS_CALIBRATE");
    char *host = name_of_host(), *path;
    bool measured;

    path = mtlm_sprintf("%s/%s.config", bus, host);
    measured = !(again && atoi(again) > 0)
               && read_processors(path) == mtlm_cpu_processors(false);
    free(path);
    for (size_t i = 0; i < LENGTH(parts) && measured; i++) {
        path = mtlm_sprintf("%s/%s.%s", bus, host, parts[i]);
        measured = access(path, R_OK) == 0;
        free(path);
    }
    free(host);
    return measured;
}

/* Whether the run keeps durations of tasks, or may: a policy that is not known
 * may go by durations. */
static bool keeps_durations(void)
{
    static const char *const without[] = {"prio", "eager",    "lws",
                                          "ws",   "random",   "hold",
                                          "home", "smallest", "mtlm"};
    const char *calibrate = getenv("STARPU_CALIBRATE");
    const char *policy = getenv("STARPU_SCHED");

    if (calibrate && atoi(calibrate) > 0)
        return true;
    for (size_t i = 0; i < LENGTH(without) && policy; i++)
        if (strcmp(policy, without[i]) == 0)
            policy = NULL;
    return policy != NULL;
}

/* Checks that StarPU may write to a directory, and to its directories. */
static int check_writable(const char *path)
{
    char *pattern = mtlm_sprintf("%s/*/", path);
    glob_t found = {0};
    int rc = access(path, R_OK | W_OK | X_OK), reason;

    if (rc == 0 && glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
            rc = access(found.gl_pathv[i], R_OK | W_OK | X_OK);
    reason = errno;
    globfree(&found);
    free(pattern);
    errno = reason;
    return rc;
}

/* Returns the parent of bus/ and codelets/, and in *from the variable that
 * names the parent, or NULL.  The caller frees the path. */
static char *find_parent(const char **from)
{
    static const char *const names[] = {"XDG_CACHE_HOME", "STARPU_HOME", "HOME",
                                        "TMPDIR",         "TEMP",        "TMP"};
    const char *given = getenv(variable);
    const char *home = NULL;

    *from = variable;
    if (given && *given)
        return mtlm_strdup(given);
    for (size_t i = 0; i < LENGTH(names) && !home; i++) {
        *from = names[i];
        home = getenv(names[i]);
    }
    if (!home)
        *from = NULL;
    return mtlm_sprintf("%s/.starpu/sampling", home ? home : "/tmp");
}

int mtlm_measurements_check(struct mtlm_error *err)
{
    static const char *const parts[] = {"bus", "codelets"};
    const char *from;
    char *parent = find_parent(&from);
    int rc = 0;

    for (size_t i = 0; i < LENGTH(parts) && rc == 0; i++) {
        char *path = mtlm_sprintf("%s/%s", parent, parts[i]);
        const bool needed = i == 0 ? !is_measured(path) : keeps_durations();

        if (needed && (mtlm_disk_make_path(path) < 0 || check_writable(path) < 0))
            rc = mtlm_error_set(err, MTLM_EXIT_IO,
                                "%s%s%s%s: StarPU cannot keep its measurements "
                                "in %s: %s; %s=DIR names another directory",
                                from ? "the environment variable " : "no HOME",
                                from ? from : "", from ? "=" : "",
                                from ? getenv(from) : "", path, strerror(errno),
                                variable);
        free(path);
    }
    free(parent);
    return rc;
}
