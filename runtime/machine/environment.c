/* Checks the environment variables of StarPU, of the BLAS, and of the policy
 * "mtlm" before those read them. */

#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <starpu.h>

#include "runtime/base/memory.h"
#include "runtime/base/units.h"
#include "runtime/machine/blas_core.h"
#include "runtime/machine/cpu.h"
#include "runtime/machine/environment.h"
#include "runtime/machine/measurements.h"
#include "runtime/machine/plugin.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

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
    {"STARPU_MINIMUM_AVAILABLE_MEM", 0, 100},
    {"STARPU_TARGET_AVAILABLE_MEM", 0, 100},
    {"STARPU_MINIMUM_CLEAN_BUFFERS", 0, 100},
    {"STARPU_TARGET_CLEAN_BUFFERS", 0, 100},
    {"STARPU_NTHREADS_PER_CORE", 1, INT_MAX},
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

/* The same, from 0 on. */
static const char *const counts[] = {
    "STARPU_LIMIT_CPU_MEM",
    "STARPU_LIMIT_CPU_NUMA_MEM",
    "STARPU_LIMIT_CUDA_MEM",
    "STARPU_LIMIT_BANDWIDTH",
    "STARPU_LIMIT_MAX_SUBMITTED_TASKS",
    "STARPU_LIMIT_MIN_SUBMITTED_TASKS",
    "STARPU_MAX_MEMORY_USE",
    "STARPU_SUBALLOCATOR",
    "STARPU_DISK_SWAP_SIZE",
    "STARPU_NCUDA",
    "STARPU_NHIP",
    "STARPU_NOPENCL",
    "STARPU_NMAX_FPGA",
    "STARPU_NWORKER_PER_CUDA",
    "STARPU_CUDA_PIPELINE",
    "STARPU_CUDA_THREAD_PER_DEV",
    "STARPU_CUDA_THREAD_PER_WORKER",
    "STARPU_CUDA_ONLY_FAST_ALLOC_OTHER_MEMNODES",
    "STARPU_ENABLE_CUDA_GPU_GPU_DIRECT",
    "STARPU_ENABLE_MAP",
    "STARPU_DISABLE_ASYNCHRONOUS_COPY",
    "STARPU_DISABLE_ASYNCHRONOUS_CUDA_COPY",
    "STARPU_DISABLE_ASYNCHRONOUS_HIP_COPY",
    "STARPU_DISABLE_ASYNCHRONOUS_MAX_FPGA_COPY",
    "STARPU_DISABLE_ASYNCHRONOUS_OPENCL_COPY",
    "STARPU_DISABLE_KERNELS",
    "STARPU_DISABLE_PINNING",
    "STARPU_EXPECTED_TRANSFER_TIME_WRITEBACK",
    "STARPU_DATA_LOCALITY_ENFORCE",
    "STARPU_PCI_FLAT",
    "STARPU_GLOBAL_ARBITER",
    "STARPU_PERF_MODEL_HOMOGENEOUS_CPU",
    "STARPU_SINGLE_COMBINED_WORKER",
    "STARPU_MIN_WORKERSIZE",
    "STARPU_MAX_WORKERSIZE",
    "STARPU_SYNTHESIZE_ARITY_COMBINED_WORKER",
    "STARPU_BACKOFF_MIN",
    "STARPU_BACKOFF_MAX",
    "STARPU_HISTORY_MAX_ERROR",
    "STARPU_MIN_PRIO",
    "STARPU_MAX_PRIO",
    "STARPU_NTASKS_THRESHOLD",
    "STARPU_RAND_SEED",
    "STARPU_SCHED_READY",
    "STARPU_SCHED_GRAPH_TEST_DESCENDANTS",
    "STARPU_SCHED_SORTED_ABOVE",
    "STARPU_SCHED_SORTED_BELOW",
    "STARPU_TRACE_BUFFER_SIZE",
    "STARPU_CODELET_PROFILING",
    "STARPU_ENERGY_PROFILING",
    "STARPU_DISPLAY_BINDINGS",
    "STARPU_TASK_PROGRESS",
    "STARPU_TASK_BREAK_ON_EXEC",
    "STARPU_TASK_BREAK_ON_POP",
    "STARPU_TASK_BREAK_ON_PUSH",
    "STARPU_TASK_BREAK_ON_SCHED",
    "STARPU_WATCHDOG_CRASH",
    "STARPU_WATCHDOG_DELAY",
};

/* StarPU aborts unless these hold a number. */
static const char *const reals[] = {
    "STARPU_SCHED_ALPHA", "STARPU_SCHED_BETA",        "STARPU_SCHED_GAMMA",
    "STARPU_IDLE_POWER",  "STARPU_EXP_LEN_THRESHOLD", "STARPU_WINDOW_TIME_SIZE",
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

static int check_real(const char *name, struct mtlm_error *err)
{
    const char *text = getenv(name);
    char *end;

    if (!text)
        return 0;
    strtod(text, &end);
    if (end != text && *end == '\0')
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "the environment variable %s=%s is not a number",
                          name, text);
}

/* The policy "mtlm" takes what plans take. */
static int check_hold(struct mtlm_error *err)
{
    const char *text = getenv("MTLM_HOLD");
    double share;

    if (!text || !*text || mtlm_plugin_hold_share(&share))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "the environment variable MTLM_HOLD=%s is not a "
                          "number from 0 to 10",
                          text);
}

int mtlm_environment_check_numbers(struct mtlm_error *err)
{
    int rc = 0;

    for (size_t i = 0; i < LENGTH(numbers) && rc == 0; i++)
        rc = check_number(&numbers[i], err);
    for (size_t i = 0; i < LENGTH(counts) && rc == 0; i++)
        rc = check_number(&(struct number){counts[i], 0, INT_MAX}, err);
    for (size_t i = 0; i < LENGTH(reals) && rc == 0; i++)
        rc = check_real(reals[i], err);
    return rc < 0 ? rc : check_hold(err);
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
        bool list, cores;
    } variables[] = {
        {"STARPU_WORKERS_CPUID", true, false},
        {"STARPU_WORKERS_COREID", true, true},
        {"STARPU_MAIN_THREAD_CPUID", false, false},
        {"STARPU_MAIN_THREAD_COREID", false, true},
        {"STARPU_MPI_THREAD_CPUID", false, false},
        {"STARPU_MPI_THREAD_COREID", false, true},
    };

    for (size_t i = 0; i < LENGTH(variables); i++) {
        const char *text = getenv(variables[i].name), *at = text;
        const bool list = variables[i].list, cores = variables[i].cores;
        const char *noun = cores ? "core" : "processor";
        const int n = text ? mtlm_cpu_processors(cores) : 0;

        if (!text
            || (list ? is_processor_list(text, n)
                     : read_processor(&at, n) >= 0 && *at == '\0'))
            continue;
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "the environment variable %s=%s is not %s%s%s of this process, "
            "whose %ss have numbers from 0 to %d",
            variables[i].name, text, list ? "a list of " : "a ", noun,
            list ? "s" : "", noun, n - 1);
    }
    return 0;
}

/* StarPU takes these cores from the workers that it was told to start. */
static int check_reserved_cores(struct mtlm_error *err)
{
    static const char *const names[] = {"STARPU_RESERVE_NCPU",
                                        "STARPU_MAIN_THREAD_BIND"};

    for (size_t i = 0; i < LENGTH(names); i++) {
        const char *text = getenv(names[i]);

        if (text && atoi(text) > 0)
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "the environment variable %s=%s takes "
                                  "workers away; --workers sets their number",
                                  names[i], text);
    }
    return 0;
}

/* MPI and StarPU end in a signal where they have less. */
static int check_addresses(struct mtlm_error *err)
{
    const double least = 128;
    const double free = (double) mtlm_memory_available() / MTLM_MIB;
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY
        || free >= least)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                          "the limit of %.0f MiB of address space (ulimit -v) "
                          "leaves %.0f MiB, and %.0f MiB are needed to start",
                          (double) limit.rlim_cur / MTLM_MIB, free, least);
}

int mtlm_environment_check(struct mtlm_error *err)
{
    return mtlm_environment_check_numbers(err) < 0 || check_addresses(err) < 0
                   || check_processors(err) < 0 || check_reserved_cores(err) < 0
                   || mtlm_measurements_check(err) < 0
                   || mtlm_blas_core_check(err) < 0
               ? -1
               : 0;
}

int mtlm_environment_check_memory(double bytes, struct mtlm_error *err)
{
    static const char *const names[] = {"STARPU_LIMIT_CPU_MEM",
                                        "STARPU_LIMIT_CPU_NUMA_MEM"};

    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);

        if (text && atoi(text) * MTLM_MIB < bytes)
            return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                                  "the environment variable %s=%s (MiB) leaves "
                                  "less than the plan of %.1f MiB",
                                  names[i], text, bytes / MTLM_MIB);
    }
    return 0;
}
