/* Checks the environment variables of StarPU and of the BLAS before the
 * libraries read them. */

#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <starpu.h>

#include "runtime/base/memory.h"
#include "runtime/machine/blas_core.h"
#include "runtime/machine/cpu.h"
#include "runtime/machine/environment.h"

/* StarPU aborts unless these hold a whole number, and takes numbers beyond the
 * limits for others. */
static const struct number {
    const char *name;
    long least, most;
} numbers[] = {
    {"STARPU_NCPU", 1, STARPU_MAXCPUS},
    {"STARPU_NCPUS", 1, STARPU_MAXCPUS},
    {"STARPU_RESERVE_NCPU", 0, STARPU_MAXCPUS},
    {"STARPU_CALIBRATE", 0, 2},
    {"STARPU_BUS_CALIBRATE", 0, 1},
    {"STARPU_CALIBRATE_MINIMUM", 1, INT_MAX},
    {"STARPU_LIMIT_CPU_MEM", 0, INT_MAX},
    {"STARPU_LIMIT_CPU_NUMA_MEM", 0, INT_MAX},
    {"STARPU_LIMIT_CUDA_MEM", 0, INT_MAX},
    {"STARPU_LIMIT_MAX_SUBMITTED_TASKS", 0, INT_MAX},
    {"STARPU_LIMIT_MIN_SUBMITTED_TASKS", 0, INT_MAX},
    {"STARPU_MINIMUM_AVAILABLE_MEM", 0, 100},
    {"STARPU_TARGET_AVAILABLE_MEM", 0, 100},
    {"STARPU_MINIMUM_CLEAN_BUFFERS", 0, 100},
    {"STARPU_TARGET_CLEAN_BUFFERS", 0, 100},
    {"STARPU_CUDA_PIPELINE", 0, INT_MAX},
    {"STARPU_NTHREADS_PER_CORE", 1, INT_MAX},
    {"STARPU_BACKOFF_MIN", 0, INT_MAX},
    {"STARPU_BACKOFF_MAX", 0, INT_MAX},
    {"STARPU_HISTORY_MAX_ERROR", 0, INT_MAX},
    {"STARPU_TRACE_BUFFER_SIZE", 0, INT_MAX},
    {"STARPU_MIN_PRIO", INT_MIN, INT_MAX},
    {"STARPU_MAX_PRIO", INT_MIN, INT_MAX},
    {"STARPU_SILENT", 0, 1},
    {"STARPU_WORKERS_NOBIND", 0, 1},
    {"STARPU_WORKERS_GETBIND", 0, 1},
    {"STARPU_MAIN_THREAD_BIND", 0, 1},
    {"STARPU_USE_NUMA", 0, 2},
    {"STARPU_FXT_TRACE", 0, 1},
    {"STARPU_GENERATE_TRACE", 0, 1},
    {"STARPU_PREFETCH", 0, 1},
    {"STARPU_WORKER_TREE", 0, 1},
    {"STARPU_CATCH_SIGNALS", 0, 1},
    {"STARPU_STATS", 0, 1},
    {"STARPU_BUS_STATS", 0, 1},
    {"STARPU_MEMORY_STATS", 0, 1},
    {"OPENBLAS_NUM_THREADS", 1, INT_MAX},
};

static int check_number(const struct number *number, struct mtlm_error *err)
{
    const char *text = getenv(number->name);
    char *end;
    long value;

    if (!text)
        return 0;
    errno = 0;
    value = strtol(text, &end, 10);
    if (end != text && *end == '\0' && errno == 0 && value >= number->least
        && value <= number->most)
        return 0;
    if (number->least == INT_MIN)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "the environment variable %s=%s is not a whole "
                              "number",
                              number->name, text);
    if (number->most == INT_MAX)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "the environment variable %s=%s is not a whole "
                              "number from %ld on",
                              number->name, text, number->least);
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "the environment variable %s=%s is not a whole "
                          "number from %ld to %ld",
                          number->name, text, number->least, number->most);
}

int mtlm_environment_check_numbers(struct mtlm_error *err)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (check_number(&numbers[i], err) < 0)
            return -1;
    return 0;
}

/* Reads a processor's number from *at on, and moves *at behind the number. */
static int read_processor(const char **at, int processors)
{
    char *end;
    const long value = strtol(*at, &end, 10);

    if (end == *at || value < 0 || value >= processors)
        return -1;
    *at = end;
    return (int) value;
}

/* StarPU's lists: "0 1", "0,1", "0-3", "2-". */
static bool is_processor_list(const char *text, int processors)
{
    const char *at = text + strspn(text, " ");

    if (!*at)
        return false;
    while (*at) {
        const int first = read_processor(&at, processors);

        if (first < 0)
            return false;
        if (*at == '-') {
            at++;
            if (*at && *at != ' ' && *at != ','
                && read_processor(&at, processors) < first)
                return false;
        }
        if (*at && *at != ' ' && *at != ',')
            return false;
        at += strspn(at, " ,");
    }
    return true;
}

static int check_processors(struct mtlm_error *err)
{
    static const struct {
        const char *name;
        bool list;
    } variables[] = {
        {"STARPU_WORKERS_CPUID", true},
        {"STARPU_WORKERS_COREID", true},
        {"STARPU_MAIN_THREAD_CPUID", false},
        {"STARPU_MAIN_THREAD_COREID", false},
        {"STARPU_MPI_THREAD_CPUID", false},
        {"STARPU_MPI_THREAD_COREID", false},
    };

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *text = getenv(variables[i].name), *at = text;
        const int n = text ? mtlm_cpu_processors() : 0;

        if (!text
            || (variables[i].list ? is_processor_list(text, n)
                                  : read_processor(&at, n) >= 0 && *at == '\0'))
            continue;
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "the environment variable %s=%s is not %s of this process, which "
            "are numbered from 0 to %d",
            variables[i].name, text,
            variables[i].list ? "a list of processors" : "a processor", n - 1);
    }
    return 0;
}

/* Makes a directory unless there is one. */
static int make_directory(const char *path)
{
    struct stat status;

    if (mkdir(path, 0777) == 0)
        return 0;
    if (stat(path, &status) == 0) {
        errno = ENOTDIR;
        return S_ISDIR(status.st_mode) ? 0 : -1;
    }
    return -1;
}

/* Makes the directories of a path. */
static int make_path(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_directory(path) < 0)
            return -1;
        *slash = '/';
    }
    return make_directory(path);
}

/* The directory where StarPU keeps measurements of this host. */
static int check_home(struct mtlm_error *err)
{
    static const char *const names[] = {"XDG_CACHE_HOME", "STARPU_HOME", "HOME",
                                        "TMPDIR",         "TEMP",        "TMP"};
    const char *home = NULL, *name = NULL;
    char *path;
    int rc = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !home; i++)
        home = getenv(name = names[i]);
    if (!home)
        return 0;
    path = mtlm_sprintf("%s/.starpu/sampling/bus", home);
    if (make_path(path) < 0)
        rc = mtlm_error_set(
            err, MTLM_EXIT_IO,
            "the environment variable %s=%s: StarPU cannot "
            "keep its measurements in %s: %s; STARPU_HOME=DIR "
            "names another directory%s",
            name, home, path, strerror(errno),
            strcmp(name, names[0]) ? "" : ", without XDG_CACHE_HOME");
    free(path);
    return rc;
}

int mtlm_environment_check(struct mtlm_error *err)
{
    return mtlm_environment_check_numbers(err) < 0 || check_processors(err) < 0
                   || check_home(err) < 0 || mtlm_blas_core_check(err) < 0
               ? -1
               : 0;
}

int mtlm_environment_check_memory(double bytes, struct mtlm_error *err)
{
    static const char *const names[] = {"STARPU_LIMIT_CPU_MEM",
                                        "STARPU_LIMIT_CPU_NUMA_MEM"};
    const double mib = 1024.0 * 1024;

    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);

        if (text && atoi(text) * mib < bytes)
            return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                                  "the environment variable %s=%s (MiB) leaves "
                                  "less than the plan of %.1f MiB",
                                  names[i], text, bytes / mib);
    }
    return 0;
}
