/* StarPU starts with the workers of the rank, whatever its variables say, or a
 * sentence names what stands against that. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <starpu.h>

#include "runtime/machine/machine.h"
#include "tests/runtime/child.h"

/* The worker's GPU is refused before StarPU or CUDA is asked. */
static void assert_refuses(int gpu, const char *word)
{
    const struct mtlm_machine_config config = {.workers = 1, .gpu = gpu};
    struct mtlm_error err;

    assert_int_equal(mtlm_machine_start(&config, &err), -1);
    assert_int_equal(err.code, MTLM_EXIT_USAGE);
    assert_non_null(strstr(err.text, word));
}

/* StarPU's tables of devices end there. */
static void test_a_gpu_beyond_those_of_starpu_is_refused(void **state)
{
    (void) state;
    assert_refuses(STARPU_MAXCUDADEVS, "CUDA_VISIBLE_DEVICES");
    assert_refuses(STARPU_MAXCUDADEVS + 1, "CUDA_VISIBLE_DEVICES");
}

static void test_a_gpu_has_one_worker(void **state)
{
    (void) state;
    if (STARPU_MAXCUDADEVS < 1)
        skip();
    setenv("STARPU_NWORKER_PER_CUDA", "2", 1);
    assert_refuses(0, "STARPU_NWORKER_PER_CUDA=2");
    unsetenv("STARPU_NWORKER_PER_CUDA");
}

static void test_variables_do_not_change_the_workers(void **state)
{
    const struct mtlm_machine_config config = {
        .workers = 2, .gpu = -1, .shared = true};
    struct mtlm_error err = {0};

    (void) state;
    setenv("STARPU_NCPU", "3", 1);
    setenv("STARPU_NCPUS", "1", 1);
    if (mtlm_machine_start(&config, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(starpu_cpu_worker_get_count(), 2);
    mtlm_machine_stop();
}

/* In a thread without a context, StarPU would ask for the policy of none. */
static void test_a_second_context_leaves_the_name_of_the_policy(void **state)
{
    const struct mtlm_machine_config config = {
        .workers = 1, .gpu = -1, .shared = true};
    struct mtlm_error err = {0};
    int worker = 0;
    unsigned second;

    (void) state;
    if (mtlm_machine_start(&config, &err) < 0)
        fail_msg("%s", err.text);
    second = starpu_sched_ctx_create(&worker, 1, "second",
                                     STARPU_SCHED_CTX_POLICY_NAME, "eager", 0);
    assert_string_equal(mtlm_machine_policy(), MTLM_DEFAULT_POLICY);
    starpu_sched_ctx_delete(second);
    mtlm_machine_stop();
}

static _Atomic bool released;

static void await_release(void *buffers[], void *arg)
{
    (void) buffers, (void) arg;
    while (!released)
        usleep(1000);
}

static struct starpu_codelet codelet = {.cpu_funcs = {await_release},
                                        .cpu_funcs_name = {"await_release"},
                                        .name = "await_release"};

/* No task ends before all are submitted. */
static int submit_many(const void *unused)
{
    const struct mtlm_machine_config config = {
        .workers = 1, .gpu = -1, .shared = true};
    struct mtlm_error err;

    (void) unused;
    setenv("STARPU_LIMIT_MAX_SUBMITTED_TASKS", "2", 1);
    setenv("STARPU_LIMIT_MIN_SUBMITTED_TASKS", "1", 1);
    if (mtlm_machine_start(&config, &err) < 0)
        return 1;
    for (int i = 0; i < 8; i++)
        if (starpu_task_insert(&codelet, 0) != 0)
            return 2;
    released = true;
    starpu_task_wait_for_all();
    mtlm_machine_stop();
    return 42;
}

/* Else ranks would wait for each other: not all have posted the same. */
static void test_variables_do_not_block_who_submits(void **state)
{
    char text[256];
    const int status = child_status(submit_many, NULL, text);

    (void) state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
}

int main(void)
{
    /* A process without StarPU comes first. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_do_not_block_who_submits),
        cmocka_unit_test(test_a_gpu_beyond_those_of_starpu_is_refused),
        cmocka_unit_test(test_a_gpu_has_one_worker),
        cmocka_unit_test(test_variables_do_not_change_the_workers),
        cmocka_unit_test(test_a_second_context_leaves_the_name_of_the_policy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
