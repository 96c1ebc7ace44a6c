/* The watchdog: a disk that works is progress, a disk that hangs ends the job,
 * and a process alone misses nobody. */

#include "config.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/comm/activity.h"
#include "runtime/comm/watchdog.h"
#include "runtime/disk/pieces.h"
#include "runtime/file/disk.h"
#include "runtime/machine/signals.h"
#include "tests/forbid_uring.h"
#include "tests/runtime/child.h"

/* ---- a disk that hangs ---- */

static bool can_hang;      /* all reads are calls of pread() */
static _Atomic bool hangs; /* pread() posts entered, and waits for released */
static sem_t entered, released;

ssize_t __real_pread(int fd, void *data, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t offset);

ssize_t __wrap_pread(int fd, void *data, size_t bytes, off_t offset)
{
    if (hangs) {
        sem_post(&entered);
        while (sem_wait(&released) < 0)
            ;
    }
    return __real_pread(fd, data, bytes, offset);
}

/* Two small pieces, and one of several calls. */
enum { PIECES = 3, SMALL = MTLM_OFFLOAD_ALIGN, LARGE = 40 << 20 };

static char *get_memory(int64_t bytes)
{
    char *memory = aligned_alloc(MTLM_OFFLOAD_ALIGN, bytes);

    if (memory)
        memset(memory, 1, bytes);
    return memory;
}

/* Returns pieces that are all on the disk; no file: a failure. */
static struct mtlm_pieces create_pieces(void)
{
    static const int64_t sizes[PIECES] = {SMALL, SMALL, LARGE};
    struct mtlm_error err;
    struct mtlm_pieces pieces = {
        .file = mtlm_offload_file_create(".", sizes, PIECES, &err)};
    char *memory = get_memory(2 * SMALL + LARGE);

    if (pieces.file
        && (!memory
            || mtlm_pieces_store(&pieces, 0, PIECES, memory, &err) < 0)) {
        mtlm_offload_file_destroy(pieces.file);
        pieces.file = NULL;
    }
    free(memory);
    return pieces;
}

/* ---- a disk that works ---- */

struct load {
    const struct mtlm_pieces *pieces;
    int piece;
    sem_t *done;
};

static void *run_load(void *arg)
{
    struct load *load = arg;
    char *memory = get_memory(SMALL);
    struct mtlm_error err;

    if (memory)
        mtlm_pieces_load(load->pieces, load->piece, 1, memory, &err);
    free(memory);
    sem_post(load->done);
    return NULL;
}

/* Returns whether a look of the watchdog finds progress. */
static bool progresses(void)
{
    const int64_t before = mtlm_activity_progress_ns();

    usleep(1000); /* for the clock */
    mtlm_activity_look();
    return mtlm_activity_progress_ns() > before;
}

/* Two threads load while the main thread waits for other ranks. */
static void test_a_load_under_way_is_progress(void **state)
{
    struct mtlm_pieces pieces;
    struct load load[2];
    pthread_t thread[2];
    sem_t done;

    (void) state;
    if (!can_hang)
        skip();
    pieces = create_pieces();
    assert_non_null(pieces.file);
    sem_init(&done, 0, 0);
    mtlm_activity_start();
    mtlm_activity_wait_begin(MTLM_WAITER_MAIN, "all ranks");
    assert_false(progresses());
    hangs = true;
    for (int i = 0; i < 2; i++) {
        load[i] = (struct load){&pieces, i, &done};
        assert_int_equal(pthread_create(&thread[i], NULL, run_load, &load[i]),
                         0);
    }
    for (int i = 0; i < 2; i++)
        sem_wait(&entered);
    assert_true(progresses());
    sem_post(&released);
    sem_wait(&done);
    assert_true(progresses()); /* by the other load */
    sem_post(&released);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    hangs = false;
    assert_false(progresses());
    mtlm_activity_wait_end(MTLM_WAITER_MAIN);
    mtlm_offload_file_destroy(pieces.file);
    sem_destroy(&done);
}

static int returns;

static void count_return(void)
{
    returns++;
}

/* A disk that is slow returns from one of many calls soon. */
static void test_a_long_load_returns_often(void **state)
{
    struct mtlm_pieces pieces;
    struct mtlm_error err;
    char *memory;

    (void) state;
    if (!can_hang)
        skip();
    pieces = create_pieces();
    memory = get_memory(LARGE);
    assert_true(memory && pieces.file);
    mtlm_disk_on_call(count_return);
    returns = 0;
    assert_int_equal(mtlm_pieces_load(&pieces, 2, 1, memory, &err), 0);
    assert_true(returns >= 3);
    returns = 0;
    assert_int_equal(mtlm_pieces_store(&pieces, 2, 1, memory, &err), 0);
    assert_true(returns >= 3);
    mtlm_disk_on_call(NULL);
    mtlm_offload_file_destroy(pieces.file);
    free(memory);
}

/* ---- the end of the job ---- */

static int load_in_vain(const void *arg)
{
    const struct mtlm_pieces pieces = create_pieces();
    char *memory = get_memory(SMALL);
    struct mtlm_error err;

    if (!memory || !pieces.file)
        return 1;
    mtlm_signals_start();
    if (*(const bool *) arg)
        raise(SIGTERM);
    hangs = true;
    mtlm_watchdog_start(0.02);
    mtlm_pieces_load(&pieces, 0, 1, memory, &err);
    return 2;
}

/* A process alone: nobody else would notice. */
static void test_a_disk_that_hangs_ends_the_job(void **state)
{
    static const char *const why[] = {"may take 10 times the deadline",
                                      "a signal asks the job to stop"};

    (void) state;
    if (!can_hang)
        skip();
    for (int i = 0; i < 2; i++) {
        const bool signalled = i == 1;
        char text[256];
        const int status = child_status(load_in_vain, &signalled, text);

        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), MTLM_EXIT_PEER);
        assert_non_null(strstr(text, "for a call of the disk of --offload"));
        assert_non_null(strstr(text, why[i]));
    }
}

/* A checkpoint of offloaded state waits for files and for --offload. */
static void test_a_checkpoint_keeps_its_time_after_a_signal(void **state)
{
    const struct mtlm_activity idle = {0};
    const struct mtlm_activity files = {.disk_waits = true};
    const struct mtlm_activity offload = {.offload_waits = true};
    const struct mtlm_activity both = {.disk_waits = true,
                                       .offload_waits = true};

    (void) state;
    for (int signalled = 0; signalled < 2; signalled++) {
        assert_int_equal(mtlm_watchdog_disk_deadlines(&idle, signalled), 0);
        assert_int_equal(mtlm_watchdog_disk_deadlines(&files, signalled),
                         MTLM_DISK_DEADLINES);
        assert_int_equal(mtlm_watchdog_disk_deadlines(&both, signalled),
                         MTLM_DISK_DEADLINES);
    }
    assert_int_equal(mtlm_watchdog_disk_deadlines(&offload, false),
                     MTLM_DISK_DEADLINES);
    assert_int_equal(mtlm_watchdog_disk_deadlines(&offload, true), 1);
}

/* ---- the start ---- */

static const int64_t late_ns = INT64_C(20000000000);

/* A process of a Slurm job of four, one of *arg that were started together,
 * whose MPI_Init() takes longer than the deadline. */
static int wait_for_the_start(const void *arg)
{
    static const char *const others[] = {"OMPI_COMM_WORLD_RANK",
                                         "OMPI_COMM_WORLD_SIZE", "PMI_RANK",
                                         "PMI_SIZE", "PMIX_RANK"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        unsetenv(others[i]);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    setenv("SLURM_STEP_NUM_TASKS", arg, 1);
    mtlm_watchdog_start(2 * MTLM_START_S);
    mtlm_activity_wait_begin(MTLM_WAITER_MAIN, "all ranks to start");
    mtlm_activity_shift(-late_ns); /* the wait began earlier */
    pause();
    return 1;
}

static void test_a_process_alone_misses_no_rank(void **state)
{
    static const char *const together[] = {"1", "4"};

    (void) state;
    for (int i = 0; i < 2; i++) {
        char text[256];
        const int status = child_status(wait_for_the_start, together[i], text);

        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), MTLM_EXIT_PEER);
        assert_int_equal(strstr(text, "is missing") != NULL, i == 1);
    }
}

static int start(void **state)
{
    (void) state;
    sem_init(&entered, 0, 0);
    sem_init(&released, 0, 0);
    can_hang = forbid_uring();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_disk_that_hangs_ends_the_job),
        cmocka_unit_test(test_a_checkpoint_keeps_its_time_after_a_signal),
        cmocka_unit_test(test_a_process_alone_misses_no_rank),
        cmocka_unit_test(test_a_load_under_way_is_progress),
        cmocka_unit_test(test_a_long_load_returns_often),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
