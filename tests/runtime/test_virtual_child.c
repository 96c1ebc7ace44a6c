/* The watch over mtlm-dag-sim: whatever the process does, one sentence says
 * what happened, and no file stays.  Shell scripts stand for the process. */

#include "config.h"

#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/virtual/child.h"
#include "runtime/virtual/times.h"
#include "tests/file_limit.h"
#include "tests/runtime/child.h"

static char directory[] = "/tmp/test_virtual_child.XXXXXX";

/* Two tasks: B of microbatch 3 waits for F. */
static struct mtlm_virtual_task tasks[] = {
    {.name = 0, .n_nodes = 1},
    {.name = 1, .first_node = 1, .n_nodes = 1, .n_predecessors = 1}};
static struct mtlm_virtual_node nodes[] = {
    {.about = {.phase = MTLM_PHASE_FORWARD, .microbatch = 3, .stage = 1}},
    {.about = {.phase = MTLM_PHASE_BACKWARD, .microbatch = 3, .stage = 1},
     .task = 1,
     .n_predecessors = 1}};
static int64_t predecessors[] = {0};
static char names[][32] = {"linear_fwd", "linear_bwd"};
static struct mtlm_policy_job places[] = {{.pipeline = 4, .virtual_stages = 2}};
static struct mtlm_policy_job_chunk chunks[] = {{.w = 3}, {.w = 2, .q = 1}};
static const struct mtlm_virtual_job job = {.ranks = 1,
                                            .n_chunks = 2,
                                            .about = places,
                                            .chunk = chunks,
                                            .workers = 1,
                                            .n_names = 2,
                                            .n_tasks = 2,
                                            .n_nodes = 2,
                                            .n_predecessors = 1,
                                            .task = tasks,
                                            .node = nodes,
                                            .predecessor = predecessors,
                                            .name = names};

/* Writes a shell script; returns its path. */
static const char *write_script(const char *text)
{
    static char path[100];
    FILE *file;

    snprintf(path, sizeof(path), "%s/script", directory);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

/* Returns whether the files of a run are there. */
static bool has_files(void)
{
    char pattern[100];
    glob_t found;
    bool any;

    snprintf(pattern, sizeof(pattern), "%s/mtlm-dag-sim.*", directory);
    any = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return any;
}

/* Runs the job in a script; asserts that it fails with this code and all words
 * up to NULL. */
static void assert_fails(const char *script, enum mtlm_exit code, ...)
{
    const struct mtlm_virtual_config config = {.program = write_script(script),
                                               .patience_s = 3};
    struct mtlm_virtual_result result;
    struct mtlm_error err;
    va_list words;

    assert_int_equal(mtlm_virtual_run(&job, &config, &result, &err), -1);
    assert_int_equal(err.code, code);
    va_start(words, code);
    for (const char *word; (word = va_arg(words, const char *));)
        if (!strstr(err.text, word))
            fail_msg("no \"%s\" in: %s", word, err.text);
    va_end(words);
    assert_false(has_files());
}

static void test_a_process_that_ends_without_times(void **state)
{
    (void) state;
    /* SimGrid's deadlock ends with 0. */
    assert_fails(
        "echo Oops; exit 0", MTLM_EXIT_PEER, "0 of 2 tasks",
        "ready are: linear_fwd, F of microbatch 3, stage 1, iteration 1",
        "last line: Oops", NULL);
}

static void test_a_process_that_crashes(void **state)
{
    (void) state;
    assert_fails("kill -SEGV $$", MTLM_EXIT_PEER, "died of signal 11", NULL);
}

static void test_a_process_that_says_why(void **state)
{
    (void) state;
    assert_fails("echo mtlm-dag: the policy errs >&2; exit 2", MTLM_EXIT_USAGE,
                 "the policy errs", NULL);
    /* Also to a parent that ignores its children, and goes on doing so. */
    signal(SIGCHLD, SIG_IGN);
    assert_fails("echo mtlm-dag: the policy errs >&2; exit 2", MTLM_EXIT_USAGE,
                 "the policy errs", NULL);
    assert_true(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
}

static void test_a_process_that_makes_no_progress(void **state)
{
    (void) state;
    assert_fails("trap '' TERM; exec sleep 1000", MTLM_EXIT_PEER, "no progress",
                 "linear_fwd", NULL);
}

/* Between two looks a terminal stopped both processes for a day. */
static void test_a_stopped_process_has_waited_a_second(void **state)
{
    const int64_t s = 1000000000, begin = 7 * s, day = 86400 * s;
    struct mtlm_virtual_idle idle = {.done = -1};

    (void) state;
    assert_int_equal(mtlm_virtual_idle_look(&idle, 0, begin), 0);
    assert_int_equal(mtlm_virtual_idle_look(&idle, 0, begin + s / 2), s / 2);
    assert_int_equal(mtlm_virtual_idle_look(&idle, 0, begin + day), s * 3 / 2);
    assert_int_equal(mtlm_virtual_idle_look(&idle, 0, begin + day + s / 4),
                     s * 7 / 4);
    /* Progress. */
    assert_int_equal(mtlm_virtual_idle_look(&idle, 1, begin + day + s), 0);
    assert_int_equal(mtlm_virtual_idle_look(&idle, 1, begin + day + s * 2), s);
}

static void assert_leaves_nothing(int number)
{
    const struct mtlm_virtual_config config = {
        .program = write_script("touch \"$(dirname \"$1\")/begun\"; "
                                "exec sleep 1000")};
    struct mtlm_virtual_result result;
    struct mtlm_error err;
    const pid_t pid = fork();
    char pattern[100];
    glob_t found;
    int status;

    if (pid == 0)
        _exit(mtlm_virtual_run(&job, &config, &result, &err) == 0);
    snprintf(pattern, sizeof(pattern), "%s/mtlm-dag-sim.*/begun", directory);
    while (glob(pattern, 0, NULL, &found) != 0)
        usleep(10000);
    globfree(&found);
    assert_int_equal(kill(pid, number), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
    assert_false(has_files());
}

/* A signal ends both processes, and no file stays. */
static void test_a_signal_leaves_nothing(void **state)
{
    (void) state;
    assert_leaves_nothing(SIGTERM);
    assert_leaves_nothing(SIGUSR1);
}

static int run_to_the_end(const void *program)
{
    const struct mtlm_virtual_config config = {.program = program};
    struct mtlm_virtual_result result;
    struct mtlm_error err;

    if (mtlm_virtual_run(&job, &config, &result, &err) < 0)
        return 1;
    free(result.task);
    return 0;
}

/* What else the log of a good run has comes from the policy. */
static void test_lines_of_libraries_are_left_out(void **state)
{
    char script[600], text[256];
    int status;

    (void) state;
    snprintf(script, sizeof(script),
             "echo '[starpu][starpu_init] a warning'\n"
             "echo '[0.000000] [xbt_cfg/INFO] a setting'\n"
             "echo 'mtlm-dag: the policy erred'\n"
             "echo '[hold] holds'\n"
             "echo '[1] [2] tasks/s'\n"
             "echo 'see [0.000000] [xbt_cfg/INFO]'\n"
             "printf '\\%03o' | dd of=\"$2\" bs=1 seek=%zu conv=notrunc "
             "2>/dev/null",
             MTLM_VIRTUAL_COMPLETE, offsetof(struct mtlm_virtual_times, state));
    status = child_status(run_to_the_end, write_script(script), text);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(text, "mtlm-dag: the policy erred\n"
                              "[hold] holds\n"
                              "[1] [2] tasks/s\n"
                              "see [0.000000] [xbt_cfg/INFO]\n");
    assert_false(has_files());
}

/* As after nohup, when the terminal is closed. */
static void test_an_ignored_signal_stays_ignored(void **state)
{
    (void) state;
    signal(SIGHUP, SIG_IGN);
    assert_fails("kill -HUP $PPID $$; echo mtlm-dag: both go on >&2; exit 2",
                 MTLM_EXIT_USAGE, "both go on", NULL);
    signal(SIGHUP, SIG_DFL);
}

/* StarPU in virtual time would take a worker away for it. */
static void test_the_simulator_binds_no_thread(void **state)
{
    (void) state;
    setenv("STARPU_MAIN_THREAD_BIND", "1", 1);
    assert_fails("echo mtlm-dag: is ${STARPU_MAIN_THREAD_BIND-unset} >&2; "
                 "exit 2",
                 MTLM_EXIT_USAGE, "is unset", NULL);
    unsetenv("STARPU_MAIN_THREAD_BIND");
}

/* StarPU in virtual time would end: links have no durations to measure. */
static void test_the_simulator_measures_no_link(void **state)
{
    (void) state;
    setenv("STARPU_BUS_CALIBRATE", "1", 1);
    assert_fails("echo mtlm-dag: is ${STARPU_BUS_CALIBRATE-unset} >&2; exit 2",
                 MTLM_EXIT_USAGE, "is unset", NULL);
    unsetenv("STARPU_BUS_CALIBRATE");
}

static void test_times_without_room_say_why(void **state)
{
    struct mtlm_virtual_times *times;
    struct mtlm_error err;
    char path[100];

    (void) state;
    snprintf(path, sizeof(path), "%s/times", directory);
    file_limit(4096);
    times = mtlm_virtual_times_create(path, 4096, &err);
    file_limit(RLIM_INFINITY);
    unlink(path);
    assert_null(times);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, strerror(EFBIG)));
}

static void test_a_program_that_is_not_there(void **state)
{
    struct mtlm_virtual_config config = {.program = "/no/such/program"};
    struct mtlm_virtual_result result;
    struct mtlm_error err;

    (void) state;
    assert_int_equal(mtlm_virtual_run(&job, &config, &result, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/program: No such file"));
}

static int refusal; /* errno that access() fails with; 0: the system answers */

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);

int __wrap_access(const char *path, int mode)
{
    if (refusal == 0)
        return __real_access(path, mode);
    errno = refusal;
    return -1;
}

/* As after make install by a root whose umask is 077. */
static void test_a_program_that_others_installed(void **state)
{
    struct mtlm_error err;

    (void) state;
    refusal = EACCES;
    assert_int_equal(mtlm_virtual_check(&err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "mtlm-dag-sim: Permission denied"));
    refusal = ENOENT;
    assert_int_equal(mtlm_virtual_check(&err), -1);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "launch/setup --simgrid"));
    refusal = 0;
}

/* A path of 255 characters is too long for StarPU. */
static void test_a_temporary_directory_too_long(void **state)
{
    struct mtlm_virtual_config config = {.program = "/bin/true"};
    struct mtlm_virtual_result result;
    struct mtlm_error err;
    char text[201];

    (void) state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    setenv("TMPDIR", text, 1);
    assert_int_equal(mtlm_virtual_run(&job, &config, &result, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, "TMPDIR"));
    setenv("TMPDIR", directory, 1);
}

static void test_a_temporary_directory_that_is_missing(void **state)
{
    struct mtlm_virtual_config config = {.program = "/bin/true"};
    struct mtlm_virtual_result result;
    struct mtlm_error err;
    char missing[100];

    (void) state;
    snprintf(missing, sizeof(missing), "%s/missing", directory);
    setenv("TMPDIR", missing, 1);
    assert_int_equal(mtlm_virtual_run(&job, &config, &result, &err), -1);
    setenv("TMPDIR", directory, 1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_int_equal(strncmp(err.text, missing, strlen(missing)), 0);
    assert_non_null(
        strstr(err.text, ": cannot be made: No such file or directory"));
}

static void assert_foreign(const char *path)
{
    struct mtlm_virtual_job read;
    struct mtlm_error err;

    assert_int_equal(mtlm_virtual_job_read(&read, path, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_IO);
    assert_non_null(strstr(err.text, "is no job of this mtlm-dag: "
                                     "mtlm-dag-sim is of another version"));
    mtlm_virtual_job_free(&read);
}

/* The job that mtlm-dag-sim reads is the one that was written; a file of
 * another version is refused, and a file that was cut off. */
static void test_a_job_survives_its_file(void **state)
{
    struct mtlm_virtual_job read;
    struct mtlm_error err;
    struct stat there;
    char path[100];
    FILE *file;

    (void) state;
    snprintf(path, sizeof(path), "%s/job", directory);
    assert_int_equal(mtlm_virtual_job_write(&job, path, &err), 0);
    assert_int_equal(mtlm_virtual_job_read(&read, path, &err), 0);
    assert_int_equal(read.n_tasks, 2);
    assert_memory_equal(read.node, nodes, sizeof(nodes));
    assert_string_equal(read.name[1], "linear_bwd");
    assert_memory_equal(read.about, places, sizeof(places));
    assert_memory_equal(read.chunk, chunks, sizeof(chunks));
    mtlm_virtual_job_free(&read);
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(truncate(path, there.st_size - 1), 0);
    assert_foreign(path);
    file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, 9, SEEK_SET);
    fputc('9', file);
    fclose(file);
    assert_foreign(path);
}

/* Workers of a rank: two that compute, then TP, PP, DP. */
static void test_each_lane_has_its_worker(void **state)
{
    const struct mtlm_virtual_job two = {.ranks = 3, .workers = 2};
    struct mtlm_virtual_task task = {.rank = 2, .worker = -1};
    int n;

    (void) state;
    assert_int_equal(mtlm_virtual_first_worker(&two, &task, &n), 10);
    assert_int_equal(n, 2);
    task.worker = 1;
    assert_int_equal(mtlm_virtual_first_worker(&two, &task, &n), 11);
    assert_int_equal(n, 1);
    task.lane = MTLM_LANE_DP;
    assert_int_equal(mtlm_virtual_first_worker(&two, &task, &n), 14);
    assert_int_equal(n, 1);
}

static int make_directory(void **state)
{
    (void) state;
    return mkdtemp(directory) && setenv("TMPDIR", directory, 1) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
    char path[100];

    (void) state;
    snprintf(path, sizeof(path), "%s/script", directory);
    unlink(path);
    snprintf(path, sizeof(path), "%s/job", directory);
    unlink(path);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_ends_without_times),
        cmocka_unit_test(test_a_process_that_crashes),
        cmocka_unit_test(test_a_process_that_says_why),
        cmocka_unit_test(test_a_process_that_makes_no_progress),
        cmocka_unit_test(test_a_stopped_process_has_waited_a_second),
        cmocka_unit_test(test_a_signal_leaves_nothing),
        cmocka_unit_test(test_an_ignored_signal_stays_ignored),
        cmocka_unit_test(test_lines_of_libraries_are_left_out),
        cmocka_unit_test(test_the_simulator_binds_no_thread),
        cmocka_unit_test(test_the_simulator_measures_no_link),
        cmocka_unit_test(test_times_without_room_say_why),
        cmocka_unit_test(test_a_program_that_is_not_there),
        cmocka_unit_test(test_a_program_that_others_installed),
        cmocka_unit_test(test_a_temporary_directory_too_long),
        cmocka_unit_test(test_a_temporary_directory_that_is_missing),
        cmocka_unit_test(test_a_job_survives_its_file),
        cmocka_unit_test(test_each_lane_has_its_worker),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
