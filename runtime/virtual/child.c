/* Starts mtlm-dag-sim in a directory of its own, watches the process, and reads
 * the times of the tasks. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/machine/attempt.h"
#include "runtime/virtual/child.h"
#include "runtime/virtual/platform.h"
#include "runtime/virtual/waiting.h"

#define OURS "mtlm-dag: " /* begins a sentence for the user */

enum { PATIENCE_S = 120, STACK = 1 << 20 };

/* The files of a run. */
struct sim_files {
    char directory[160], job[192], times[192], log[192];
};

/* ---- files ---- */

static int make_place(struct sim_files *p, struct mtlm_error *err)
{
    const char *tmp = getenv("TMPDIR");
    /* StarPU cuts the path of the machine at 255 characters. */
    const size_t most = sizeof(p->directory);
    const int n = snprintf(p->directory, most, "%s/mtlm-dag-sim.XXXXXX",
                           tmp && *tmp ? tmp : "/tmp");

    if ((size_t) n >= most)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "TMPDIR=%s has more than %zu characters", tmp,
                              most - strlen("/mtlm-dag-sim.XXXXXX") - 1);
    if (!mkdtemp(p->directory))
        return mtlm_disk_cannot_make(p->directory, err);
    snprintf(p->job, sizeof(p->job), "%s/job", p->directory);
    snprintf(p->times, sizeof(p->times), "%s/times", p->directory);
    snprintf(p->log, sizeof(p->log), "%s/log", p->directory);
    return 0;
}

/* Removes the directory with everything that StarPU put there. */
static void remove_place(const struct sim_files *p)
{
    const pid_t pid = fork();

    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", p->directory, (char *) NULL);
        _exit(1);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- the process ---- */

/* Writes the path of a file to path [PATH_MAX]; a relative name is seen from
 * this program.  Returns -1 with errno unless this user may start the file. */
static int find_near(const char *name, char *path)
{
    ssize_t n = 0;

    *path = '\0';
    if (*name != '/')
        n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n < 0 || n + strlen(name) >= PATH_MAX)
        return -1;
    strcpy(path + n, name);
    return access(path, X_OK);
}

/* Writes the path of mtlm-dag-sim to path [PATH_MAX]: beside this program, or
 * where make install puts it, also under another prefix. */
static int find_program(const struct mtlm_virtual_config *config, char *path,
                        struct mtlm_error *err)
{
    static const char *const places[] = {"mtlm-dag-sim",
                                         "../libexec/" PACKAGE "/mtlm-dag-sim",
                                         PKGLIBEXECDIR "/mtlm-dag-sim"};
    char denied[PATH_MAX] = "";

    if (config->program) {
        snprintf(path, PATH_MAX, "%s", config->program);
        return 0;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        errno = 0;
        if (find_near(places[i], path) == 0)
            return 0;
        if (errno == EACCES && !*denied)
            strcpy(denied, path);
    }
    if (*denied)
        return mtlm_error_set(
            err, MTLM_EXIT_IO,
            "cannot start %s: %s; if no such file is there, "
            "run launch/setup --simgrid, then configure again",
            denied, strerror(EACCES));
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "this mtlm-dag was built without StarPU in virtual "
                          "time: run launch/setup --simgrid, then configure "
                          "again");
}

int mtlm_virtual_check(struct mtlm_error *err)
{
    const struct mtlm_virtual_config config = {0};
    char path[PATH_MAX];

    return find_program(&config, path, err);
}

/* Virtual time passes in tasks only, unless the user says otherwise.  Drops
 * what is for real workers and links. */
static void set_environment(const struct sim_files *p)
{
    static const char *const costs[] = {"STARPU_SIMGRID_TASK_SUBMIT_COST",
                                        "STARPU_SIMGRID_TASK_PUSH_COST",
                                        "STARPU_SIMGRID_FETCHING_INPUT_COST"};
    static const char *const real[] = {"STARPU_NCPU",
                                       "STARPU_NCPUS",
                                       "STARPU_RESERVE_NCPU",
                                       "STARPU_WORKERS_CPUID",
                                       "STARPU_WORKERS_COREID",
                                       "STARPU_MAIN_THREAD_BIND",
                                       "STARPU_MAIN_THREAD_CPUID",
                                       "STARPU_MAIN_THREAD_COREID",
                                       "STARPU_LIMIT_MAX_SUBMITTED_TASKS",
                                       "STARPU_LIMIT_MIN_SUBMITTED_TASKS",
                                       "STARPU_BUS_CALIBRATE"};

    setenv("STARPU_PERF_MODEL_DIR", p->directory, 1);
    setenv("STARPU_HOSTNAME", MTLM_VIRTUAL_HOST, 1);
    setenv("STARPU_HOME", p->directory, 1);
    setenv("STARPU_SILENT", "1", 0);
    for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++)
        setenv(costs[i], "0", 0);
    for (size_t i = 0; i < sizeof(real) / sizeof(*real); i++)
        unsetenv(real[i]);
}

/* Each worker has two threads of SimGrid, with stacks of this size. */
static void limit_stacks(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = STACK;
    setrlimit(RLIMIT_STACK, &limit);
}

/* Becomes mtlm-dag-sim; returns only if that fails. */
static void become_simulator(const char *program, const struct sim_files *p)
{
    const int log = open(p->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (log >= 0) {
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        close(log);
    }
    set_environment(p);
    limit_stacks();
    /* SimGrid reads the last three.  Times count to a nanosecond: by default
     * SimGrid takes moments within 10 us for one. */
    execl(program, "mtlm-dag-sim", p->job, p->times,
          "--log=xbt_cfg.thres:warning", "--cfg=surf/precision:1e-9",
          "--cfg=maxmin/precision:1e-9", (char *) NULL);
    fprintf(stderr, "%s: %s\n", program, strerror(errno));
}

/* ---- signals ---- */

static volatile sig_atomic_t caught; /* a signal that ends mtlm-dag; 0: none */

static void catch_signal(int number)
{
    caught = number;
}

/* mtlm-run sends SIGUSR1 first. */
enum { ENDING = 4 };
static const int ending[ENDING] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1};

/* While the simulator runs, a signal that ends mtlm-dag also ends the simulator
 * and removes the files.  An ignored signal stays ignored, as nohup asks, in
 * the simulator as well. */
static void take_signals(struct sigaction before[ENDING])
{
    struct sigaction action = {.sa_handler = catch_signal};

    caught = 0;
    for (int i = 0; i < ENDING; i++) {
        sigaction(ending[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
    }
}

static void return_signals(const struct sigaction before[ENDING])
{
    for (int i = 0; i < ENDING; i++)
        sigaction(ending[i], &before[i], NULL);
    if (caught)
        raise(caught);
}

/* ---- the wait ---- */

static void report_progress(const struct mtlm_virtual_config *config,
                            const struct mtlm_virtual_times *times)
{
    if (config->progress)
        config->progress(config->arg, times->ended, times->n_tasks);
}

int64_t mtlm_virtual_idle_look(struct mtlm_virtual_idle *idle, int64_t done,
                               int64_t now_ns)
{
    const int64_t most = 1000000000, step = now_ns - idle->looked_ns;

    if (done != idle->done)
        idle->waited_ns = 0;
    else
        idle->waited_ns += step < most ? step : most;
    idle->done = done;
    idle->looked_ns = now_ns;
    return idle->waited_ns;
}

/* Waits for the end of the process; sets *status.  Returns false after killing
 * a process without progress. */
static bool await_end(pid_t pid, const struct mtlm_virtual_config *config,
                      const struct mtlm_virtual_times *times, int *status)
{
    const double patience =
        config->patience_s > 0 ? config->patience_s : PATIENCE_S;
    struct mtlm_virtual_idle idle = {.done = -1};
    long pause_ns = 1000000;

    while (waitpid(pid, status, WNOHANG) == 0) {
        const int64_t waited = mtlm_virtual_idle_look(
            &idle, times->submitted + times->ended, mtlm_now_ns());

        if (caught || waited > 1e9 * patience) {
            kill(pid, SIGKILL);
            waitpid(pid, status, 0);
            return false;
        }
        report_progress(config, times);
        nanosleep(&(struct timespec){0, pause_ns}, NULL);
        if (pause_ns < 50000000)
            pause_ns *= 2;
    }
    return true;
}

/* ---- the result ---- */

/* Writes the last line of the log to text [n]. */
static void read_last_line(const char *path, char *text, size_t n)
{
    FILE *file = fopen(path, "r");
    char line[400];

    *text = '\0';
    while (file && fgets(line, sizeof(line), file))
        if (line[0] != '\n')
            snprintf(text, n, "%.*s", (int) strcspn(line, "\n"), line);
    if (file)
        fclose(file);
}

static int refuse_end(const struct mtlm_virtual_job *job,
                      const struct mtlm_virtual_times *times,
                      const struct sim_files *p, bool ended, int status,
                      struct mtlm_error *err)
{
    char waiting[300], line[400], how[64] = "ended early";

    mtlm_virtual_waiting_describe(job, times, waiting, sizeof(waiting));
    read_last_line(p->log, line, sizeof(line));
    /* mtlm_end_job(): a sentence of its own. */
    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == MTLM_EXIT_USAGE
        && strncmp(line, OURS, strlen(OURS)) == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE, "%s", line + strlen(OURS));
    if (!ended)
        snprintf(how, sizeof(how), "made no progress and was ended");
    else if (WIFSIGNALED(status))
        snprintf(how, sizeof(how), "died of signal %d", WTERMSIG(status));
    else if (times->submitted == times->n_tasks)
        return mtlm_error_set(err, MTLM_EXIT_PEER,
                              "under policy %s, %" PRId64 " of %" PRId64
                              " tasks never run; ready are: %s",
                              times->policy, times->n_tasks - times->ended,
                              times->n_tasks, waiting);
    return mtlm_error_set(err, MTLM_EXIT_PEER,
                          "mtlm-dag-sim %s after %" PRId64 " of %" PRId64
                          " tasks; ready are: %s%s%s",
                          how, times->ended, times->n_tasks, waiting,
                          *line ? "; its last line: " : "", line);
}

/* Returns whether StarPU or SimGrid wrote the line: "[starpu][function] ...",
 * "[0.000000] [category/WARNING] ...". */
static bool is_of_libraries(const char *line)
{
    const char *category = line[0] == '[' ? strstr(line, "] [") : NULL;
    const char *slash = category ? strchr(category, '/') : NULL;

    return strncmp(line, "[starpu]", strlen("[starpu]")) == 0
           || (slash && slash < category + strcspn(category + 1, "]"));
}

/* Writes what a policy printed to standard error, and what mtlm-dag-sim says of
 * the policy: nobody else reads the log of a good run. */
static void show_log(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;

    while (file && getline(&line, &room, file) > 0)
        if (!is_of_libraries(line))
            fputs(line, stderr);
    free(line);
    if (file)
        fclose(file);
}

static int take_result(const struct mtlm_virtual_job *job,
                       const struct mtlm_virtual_times *times,
                       struct mtlm_virtual_result *result)
{
    snprintf(result->policy, sizeof(result->policy), "%s", times->policy);
    result->task = mtlm_calloc(job->n_tasks, sizeof(*result->task));
    memcpy(result->task, times->task, job->n_tasks * sizeof(*result->task));
    return 0;
}

/* Runs the simulator on files that are ready. */
static int run_simulator(const struct mtlm_virtual_job *job,
                         const struct mtlm_virtual_config *config,
                         const char *program, const struct sim_files *p,
                         struct mtlm_virtual_times *times,
                         struct mtlm_virtual_result *result,
                         struct mtlm_error *err)
{
    int status = 0;
    bool ended;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid < 0)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE, "fork: %s",
                              strerror(errno));
    if (pid == 0) {
        become_simulator(program, p);
        _exit(1);
    }
    ended = await_end(pid, config, times, &status);
    if (times->state == MTLM_VIRTUAL_REFUSED)
        return mtlm_error_set(err, times->error.code, "%s", times->error.text);
    if (times->state != MTLM_VIRTUAL_COMPLETE)
        return refuse_end(job, times, p, ended, status, err);
    report_progress(config, times);
    if (config->clear)
        config->clear();
    show_log(p->log);
    return take_result(job, times, result);
}

int mtlm_virtual_run(const struct mtlm_virtual_job *job,
                     const struct mtlm_virtual_config *config,
                     struct mtlm_virtual_result *result, struct mtlm_error *err)
{
    struct mtlm_virtual_times *times = NULL;
    struct sigaction before[ENDING], children;
    char program[PATH_MAX];
    struct sim_files place;
    int rc = -1;

    if (find_program(config, program, err) < 0 || make_place(&place, err) < 0)
        return -1;
    take_signals(before);
    mtlm_attempt_keep_children(&children);
    if (mtlm_virtual_platform_write(place.directory,
                                    job->ranks * mtlm_virtual_workers(job), err)
            == 0
        && mtlm_virtual_job_write(job, place.job, err) == 0
        && (times = mtlm_virtual_times_create(place.times, job->n_tasks, err)))
        rc = run_simulator(job, config, program, &place, times, result, err);
    mtlm_virtual_times_close(times);
    remove_place(&place);
    sigaction(SIGCHLD, &children, NULL);
    return_signals(before);
    return rc;
}
