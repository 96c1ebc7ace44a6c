/* Messages between two ranks: lists that travel as one, tags, element types,
 * what waits for whom, what is refused.  What ranks say when they differ. */

#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/comm/ranks.h"
#include "runtime/machine/data.h"
#include "support.h"

static struct mtlm_recorder *recorder;

static void post(enum mtlm_message_kind kind,
                 const starpu_data_handle_t *handle, int n, int64_t count,
                 enum mtlm_dtype dtype, int tag)
{
    mtlm_message_post(engine, &(struct mtlm_message){.kind = kind,
                                                     .handle = handle,
                                                     .n_handles = n,
                                                     .count = count,
                                                     .dtype = dtype,
                                                     .peer = !rank,
                                                     .tag = tag,
                                                     .group = MTLM_GROUP_WORLD,
                                                     .recorded = true});
}

/* --- a slow task -------------------------------------------------------- */

struct slow {
    int ms;
    float want, new; /* want: what must be there from begin to end */
    int64_t end_ns;
};

static void slow_task(void *buffer[], void *arg)
{
    volatile float *v = (float *) STARPU_VECTOR_GET_PTR(buffer[0]);
    struct slow *slow = *(struct slow **) arg;
    const float before = v[0];

    usleep(slow->ms * 1000);
    expect(before == slow->want && v[0] == slow->want,
           "a task finds %g, later %g, not %g", before, v[0], slow->want);
    if (slow->new != slow->want)
        v[0] = slow->new;
    slow->end_ns = mtlm_now_ns();
}

static void submit(starpu_data_handle_t data, enum starpu_data_access_mode mode,
                   struct slow *slow)
{
    static struct starpu_codelet codelet = {.cpu_funcs = {slow_task},
                                            .nbuffers =
                                                STARPU_VARIABLE_NBUFFERS,
                                            .name = "slow"};
    struct starpu_task *task = starpu_task_create();
    struct slow **arg = malloc(sizeof(*arg));

    *arg = slow;
    task->cl = &codelet;
    task->cl_arg = arg;
    task->cl_arg_size = sizeof(*arg);
    task->cl_arg_free = 1;
    task->nbuffers = 1;
    task->handles[0] = data;
    task->modes[0] = mode;
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

/* --- the tests ---------------------------------------------------------- */

static struct mtlm_record last_record(size_t *n)
{
    const struct mtlm_record *record = mtlm_recorder_records(recorder, n);

    return record[*n - 1];
}

/* Three tensors of an arena leave as one message when the slowest is there,
 * and arrive in two. */
static void test_a_list_travels_as_one_when_the_last_is_there(void)
{
    enum { N = 1000 };
    const int sent[] = {100, 400, 500}, received[] = {700, 300};
    const int *part = rank == 0 ? sent : received, n = rank == 0 ? 3 : 2;
    float *arena = mtlm_calloc(N, sizeof(*arena));
    starpu_data_handle_t handle[3];
    struct slow slow[3] = {{0, 0, 1, 0}, {200, 100, -100, 0}, {0, 500, 5, 0}};
    size_t before, after;
    int first = 0;

    mtlm_recorder_records(recorder, &before);
    for (int i = 0; i < N && rank == 0; i++)
        arena[i] = i;
    for (int i = 0; i < n; first += part[i++]) {
        handle[i] =
            mtlm_data_register(arena + first, part[i], MTLM_REAL, "part");
        if (rank == 0)
            submit(handle[i], STARPU_RW, &slow[i]);
    }
    post(rank == 0 ? MTLM_SEND : MTLM_RECV, handle, n, N, MTLM_REAL, 7);
    mtlm_engine_wait(engine);
    for (int i = 0; i < n; i++)
        starpu_data_unregister(handle[i]);
    for (int i = 0; i < N; i++) {
        const float want = i == 0 ? 1 : i == 100 ? -100 : i == 500 ? 5 : i;

        expect(arena[i] == want, "element %d is %g", i, arena[i]);
    }
    if (rank == 0)
        expect(last_record(&after).ready_ns >= slow[1].end_ns
                   && last_record(&after).start_ns >= slow[1].end_ns,
               "issued before its last tensor was there");
    last_record(&after);
    expect(after == before + 1, "%zu records of one message", after - before);
    free(arena);
}

static void test_tags_match_messages_out_of_order(void)
{
    enum { N = 20 };
    starpu_data_handle_t handle[N];
    int32_t value[N];

    for (int i = 0; i < N; i++) {
        value[i] = rank == 0 ? 1000 + i : -1;
        handle[i] = mtlm_data_register(&value[i], 1, MTLM_I32, "value");
    }
    for (int i = 0; i < N; i++)
        if (rank == 0)
            post(MTLM_SEND, &handle[i], 1, 1, MTLM_I32, i);
        else
            post(MTLM_RECV, &handle[N - 1 - i], 1, 1, MTLM_I32, N - 1 - i);
    mtlm_engine_wait(engine);
    for (int i = 0; i < N; i++) {
        starpu_data_unregister(handle[i]);
        expect(value[i] == 1000 + i, "tag %d brought %d", i, value[i]);
    }
}

/* What arrives waits for those who read the old, and those who read the new
 * wait for it; what leaves may be read meanwhile. */
static void test_messages_and_tasks_wait_for_each_other(void)
{
    float value = rank == 0 ? 7 : 3;
    starpu_data_handle_t handle =
        mtlm_data_register(&value, 1, MTLM_REAL, "value");
    struct slow old = {100, value, value, 0}, new = {0, 7, 7, 0};
    struct slow last = {0, 7, 8, 0};

    submit(handle, STARPU_R, &old);
    post(rank == 0 ? MTLM_SEND : MTLM_RECV, &handle, 1, 1, MTLM_REAL, 1);
    submit(handle, STARPU_R, &new);
    submit(handle, STARPU_RW, &last);
    starpu_task_wait_for_all();
    mtlm_engine_wait(engine);
    starpu_data_unregister(handle);
    expect(value == 8, "at the end %g", value);
}

static void test_all_reduce_adds_and_takes_the_greatest(void)
{
    enum { N = 5 };
    mtlm_real real[2][N];
    double wide[2][N];

    for (int k = 0; k < 2; k++) {
        starpu_data_handle_t handle[2];

        for (int i = 0; i < N; i++) {
            real[k][i] = rank == 0 ? i + 1 : -2 * i;
            /* Too fine for single precision. */
            wide[k][i] = rank == 0 ? 1 : 1e-12 * (i + 1);
        }
        handle[0] = mtlm_data_register(real[k], N, MTLM_REAL, "real");
        handle[1] = mtlm_data_register(wide[k], N, MTLM_F64, "wide");
        for (int d = 0; d < 2; d++)
            mtlm_message_post(
                engine, &(struct mtlm_message){
                            .kind = MTLM_ALL_REDUCE,
                            .handle = &handle[d],
                            .n_handles = 1,
                            .count = N,
                            .dtype = d ? MTLM_F64 : MTLM_REAL,
                            .group = d ? MTLM_GROUP_WORLD : MTLM_GROUP_TP,
                            .reduce = k ? MTLM_REDUCE_MAX : MTLM_REDUCE_SUM});
        mtlm_engine_wait(engine);
        starpu_data_unregister(handle[0]);
        starpu_data_unregister(handle[1]);
    }
    for (int i = 0; i < N; i++)
        expect(real[0][i] == 1 - i && real[1][i] == i + 1
                   && wide[0][i] == 1 + 1e-12 * (i + 1) && wide[1][i] == 1,
               "element %d: sums %g %.17g, greatest %g %g", i, real[0][i],
               wide[0][i], real[1][i], wide[1][i]);
}

static jmp_buf refused;

static void on_refusal(int code)
{
    expect(code == MTLM_EXIT_PEER, "refused with code %d", code);
    longjmp(refused, 1);
}

static void test_absurd_sizes_are_refused(void)
{
    static const int64_t counts[] = {0, -1, (int64_t) INT_MAX + 1,
                                     (int64_t) 1 << 32, INT64_MAX};
    float value = 0;
    starpu_data_handle_t handle =
        mtlm_data_register(&value, 1, MTLM_REAL, "value");
    volatile int n_refused = 0;

    mtlm_fatal_hook(on_refusal, rank);
    for (volatile size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (setjmp(refused))
            n_refused++;
        else
            post(MTLM_SEND, &handle, 1, counts[i], MTLM_REAL, 0);
    if (setjmp(refused))
        n_refused++;
    else
        post(MTLM_SEND, &handle, 0, 1, MTLM_REAL, 0);
    if (setjmp(refused))
        n_refused++;
    else
        mtlm_data_register(NULL, (int64_t) 1 << 32, MTLM_REAL, "huge");
    mtlm_fatal_hook(NULL, rank);
    expect(n_refused == 7, "%d of 7 refused", n_refused);
    starpu_data_unregister(handle);
}

/* A comment with its "# " has 111 characters, one more than is quoted. */
static void test_a_quoted_line_ends_before_the_next(void)
{
    char name[110] = "", *text, *want;
    struct mtlm_error err;
    int rc;

    memset(name, 'x', sizeof(name) - 1);
    text = rank ? mtlm_sprintf("same\n# %s\nmore\n", name)
                : mtlm_strdup("same\nother\nmore\n");
    want = mtlm_sprintf("rank 1 differs than rank 0: %s, not other", name);
    rc = mtlm_ranks_same(ranks, text, "differs", MTLM_EXIT_INPUT, &err);
    expect(rc == -1 && strcmp(err.text, want) == 0, "said: %s", err.text);
    free(text);
    free(want);
}

int main(int argc, char **argv)
{
    setup(&argc, &argv, 2, 2, 60);
    recorder = mtlm_recorder_create();
    start_engine(MTLM_ORDER_BY_LEADER, 0, recorder);
    test_a_list_travels_as_one_when_the_last_is_there();
    test_tags_match_messages_out_of_order();
    test_messages_and_tasks_wait_for_each_other();
    test_all_reduce_adds_and_takes_the_greatest();
    test_absurd_sizes_are_refused();
    stop_engine();
    test_a_quoted_line_ends_before_the_next();
    mtlm_recorder_destroy(recorder);
    return finish();
}
