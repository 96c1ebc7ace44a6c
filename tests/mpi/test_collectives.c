/* All-reduces of several microbatches in flight, in each order there is,
 * between messages and all-reduces of other groups, on two stages of two
 * tensor-parallel ranks. Delays and priorities are each rank's own and random:
 * every sum must be right, and nothing may hang, even with one collective at a
 * time.  Ranks that follow different plans must get wrong sums, or this test
 * shows nothing.
 *
 * Every value that a message carries is known in advance, so that the task
 * after it can tell what belongs there. */

#include "config.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/base/philox.h"
#include "runtime/machine/data.h"
#include "support.h"

enum { TP = 2, MICROBATCHES = 4, N = 16, SLOTS = 2 };

/* What a task finds in its data: nothing in particular, a sum over a group,
 * what the rank at the other stage sent. */
enum found { ANYTHING, TP_SUM, EMBEDDING_SUM, WORLD_SUM, PEERS };

struct touch {
    int iteration, microbatch;
    enum found found;
    int step;     /* in which it was made */
    int new_step; /* whose value is left for the next message */
    int delay_us;
};

static starpu_data_handle_t x[MICROBATCHES], y[MICROBATCHES];
static starpu_data_handle_t embedding, world[SLOTS];
static atomic_long wrong;
static unsigned seed;
static int longest_us;
static bool astray; /* odd ranks follow a plan of their own */

static float value(int of, int iteration, int microbatch, int step, int i)
{
    uint32_t out[4];

    mtlm_philox(of, (uint64_t) iteration << 16 | step << 8 | microbatch, i,
                out);
    return out[0] % 1000;
}

static float wanted(const struct touch *t, int i)
{
    float sum = 0;

    for (int r = 0; r < size; r++)
        if (t->found == WORLD_SUM || (t->found == TP_SUM && r / TP == rank / TP)
            || (t->found == EMBEDDING_SUM && r % TP == rank % TP)
            || (t->found == PEERS && r == (rank + TP) % size))
            sum += value(r, t->iteration, t->microbatch, t->step, i);
    return sum;
}

static void touch(void *buffer[], void *arg)
{
    const struct touch *t = arg;
    float *v = (float *) STARPU_VECTOR_GET_PTR(buffer[0]);
    bool good = true;

    for (int i = 0; i < N && t->found != ANYTHING; i++)
        good &= v[i] == wanted(t, i);
    wrong += !good;
    if (t->delay_us)
        usleep(t->delay_us);
    for (int i = 0; i < N; i++)
        v[i] = value(rank, t->iteration, t->microbatch, t->new_step, i);
}

static struct starpu_codelet codelet = {.cpu_funcs = {touch},
                                        .cpu_funcs_name = {"touch"},
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "touch"};

static int random_below(int n)
{
    return rand_r(&seed) / 5 % n;
}

/* A task on data that reads other too. */
static void submit(starpu_data_handle_t data, starpu_data_handle_t other,
                   struct touch t)
{
    struct starpu_task *task = starpu_task_create();
    struct touch *arg = malloc(sizeof(*arg));

    *arg = t;
    arg->delay_us = random_below(2) ? random_below(longest_us) : 0;
    task->cl = &codelet;
    task->cl_arg = arg;
    task->cl_arg_size = sizeof(*arg);
    task->cl_arg_free = 1;
    task->priority = random_below(100);
    task->nbuffers = other ? 2 : 1;
    task->handles[0] = data;
    task->modes[0] = STARPU_RW;
    task->handles[1] = other;
    task->modes[1] = STARPU_R;
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

static void all_reduce(starpu_data_handle_t data, enum mtlm_group group)
{
    static int64_t number;

    mtlm_message_post(engine,
                      &(struct mtlm_message){.kind = MTLM_ALL_REDUCE,
                                             .handle = &data,
                                             .n_handles = 1,
                                             .count = N,
                                             .dtype = MTLM_REAL,
                                             .group = group,
                                             .priority = random_below(100),
                                             .recorded = true,
                                             .record.job = number++});
}

static void transfer(enum mtlm_message_kind kind, starpu_data_handle_t data,
                     int iteration, int microbatch)
{
    mtlm_message_post(engine,
                      &(struct mtlm_message){
                          .kind = kind,
                          .handle = &data,
                          .n_handles = 1,
                          .count = N,
                          .dtype = MTLM_REAL,
                          .peer = (rank + TP) % size,
                          .tag = iteration % 64 * MICROBATCHES + microbatch});
}

/* Two all-reduces with tasks around them; first finds `found`. */
static void pass(starpu_data_handle_t data, starpu_data_handle_t other, int it,
                 int m, enum found found, int step)
{
    submit(data, other, (struct touch){it, m, found, step, 1, 0});
    all_reduce(data, MTLM_GROUP_TP);
    submit(data, NULL, (struct touch){it, m, TP_SUM, 1, 2, 0});
    all_reduce(data, MTLM_GROUP_TP);
    submit(data, NULL, (struct touch){it, m, TP_SUM, 2, 3, 0});
}

/* Forward on the first stage, forward and back on the second, back on the
 * first; then the groups across.  The second stage could reduce its
 * embedding early, while the first needs all the others before. */
static void submit_iteration(int it)
{
    const bool first = rank < TP;

    for (int m = 0; m < MICROBATCHES; m++)
        if (first) {
            pass(x[m], m ? NULL : world[(it + 1) % SLOTS], it, m, ANYTHING, 0);
            transfer(MTLM_SEND, x[m], it, m);
        } else {
            transfer(MTLM_RECV, x[m], it, m);
            pass(x[m], NULL, it, m, PEERS, 3);
            transfer(MTLM_SEND, x[m], it, m);
        }
    for (int m = 0; m < MICROBATCHES && first; m++) {
        transfer(MTLM_RECV, y[m], it, m);
        pass(y[m], NULL, it, m, PEERS, 3);
    }
    submit(embedding, first ? y[MICROBATCHES - 1] : x[0],
           (struct touch){it, 0, ANYTHING, 0, 5, 0});
    all_reduce(embedding, MTLM_GROUP_EMBEDDING);
    submit(embedding, NULL, (struct touch){it, 0, EMBEDDING_SUM, 5, 6, 0});
    submit(world[it % SLOTS], embedding,
           (struct touch){it, 0, ANYTHING, 0, 7, 0});
    all_reduce(world[it % SLOTS], MTLM_GROUP_WORLD);
    submit(world[it % SLOTS], NULL, (struct touch){it, 0, WORLD_SUM, 7, 8, 0});
}

/* A plan: the last microbatch first, on both stages, forward and back; then
 * the groups across.  Returns how many there are in an iteration. */
static int make_plan(int order[])
{
    const int passes = rank < TP ? 2 : 1;
    int n = 0;

    for (int pass = 0; pass < passes; pass++)
        for (int m = MICROBATCHES - 1; m >= 0; m--)
            for (int k = 0; k < 2; k++)
                order[n++] = 2 * (pass * MICROBATCHES + m) + k;
    for (int k = 0; k < 2; k++)
        order[n] = n, n++;
    return n;
}

/* Microbatches in program order; on the second stage the embedding comes as
 * soon as the plan may have it. */
static int make_other_plan(int order[])
{
    const int passes = rank < TP ? 2 : 1, each = 2 * MICROBATCHES * passes;
    int n = 0;

    for (int i = 0; i < each; i++) {
        order[n++] = i;
        if (i == 1 && rank >= TP)
            order[n++] = each;
    }
    if (rank < TP)
        order[n++] = each;
    order[n++] = each + 1;
    return n;
}

static void check_plan(const struct mtlm_record *record, size_t n)
{
    int order[4 * MICROBATCHES + 2];
    const int each = make_plan(order);
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < n; i++)
        first = record[i].job < first ? record[i].job : first;
    for (size_t i = 0; i < n; i++) {
        const int64_t want = first + i / each * each + order[i % each];

        expect(record[i].job == want, "collective %zu is %ld, not %ld", i,
               (long) record[i].job, (long) want);
    }
}

static int by_start(const void *a, const void *b)
{
    const struct mtlm_record *p = a, *q = b;

    return mtlm_compare(p->start_ns, q->start_ns);
}

/* Tensor-parallel ranks issued the same, in the same order; returns how many
 * collectives began before another had ended. */
static long check_records(struct mtlm_recorder *recorder,
                          enum mtlm_collective_order order)
{
    size_t n, bytes;
    const struct mtlm_record *record = mtlm_recorder_records(recorder, &n);
    struct mtlm_record *mine = mtlm_calloc(n, sizeof(*mine)), *all;
    int64_t end = 0;
    long overlaps = 0;

    memcpy(mine, record, n * sizeof(*mine));
    qsort(mine, n, sizeof(*mine), by_start);
    for (size_t i = 0; i < n; i++) {
        overlaps += mine[i].start_ns < end;
        end = mine[i].end_ns > end ? mine[i].end_ns : end;
    }
    if (order == MTLM_ORDER_PLANNED)
        check_plan(mine, n);
    all = mtlm_ranks_gather(ranks, mine, n * sizeof(*mine), &bytes);
    for (size_t i = 0; all && i < n; i++)
        expect(all[i].job == all[n + i].job,
               "collective %zu is %ld on rank 0, %ld on rank 1", i,
               (long) all[i].job, (long) all[n + i].job);
    free(all);
    free(mine);
    return overlaps;
}

/* Returns how many values were wrong, on all ranks. */
static double run(enum mtlm_collective_order order, int max_in_flight,
                  int iterations, int delay_us)
{
    const int64_t start = mtlm_now_ns();
    struct mtlm_recorder *recorder = mtlm_recorder_create();
    int plan[4 * MICROBATCHES + 2];
    const int each =
        astray && rank % 2 ? make_other_plan(plan) : make_plan(plan);
    long overlaps = 0;
    double sum;

    wrong = 0;
    longest_us = delay_us;
    start_engine(order, max_in_flight, recorder);
    for (int it = 0; it < iterations; it++) {
        if (order == MTLM_ORDER_PLANNED)
            mtlm_engine_order(engine, plan, each);
        if (it >= SLOTS)
            settle(world[it % SLOTS]);
        submit_iteration(it);
    }
    MTLM_CHECK_STARPU(starpu_task_wait_for_all());
    stop_engine();
    if (!astray)
        overlaps = check_records(recorder, order);
    expect(max_in_flight != 1 || overlaps == 0,
           "%ld collectives at the same time", overlaps);
    sum = mtlm_ranks_sum(ranks, wrong);
    if (rank == 0)
        printf("order %d, in flight %d: %d iterations in %.1f s, %ld "
               "overlaps, %g wrong\n",
               order, max_in_flight, iterations, (mtlm_now_ns() - start) * 1e-9,
               overlaps, sum);
    expect(order != MTLM_ORDER_BY_LEADER || max_in_flight == 1 || overlaps > 0,
           "no two collectives were in flight at a time");
    mtlm_recorder_destroy(recorder);
    return sum;
}

static starpu_data_handle_t new_data(void)
{
    starpu_data_handle_t handle = mtlm_data_register(NULL, N, MTLM_REAL, "x");
    const float zero = 0;

    starpu_data_acquire(handle, STARPU_W);
    memset((void *) starpu_vector_get_local_ptr(handle), 0, N * sizeof(zero));
    starpu_data_release(handle);
    return handle;
}

/* NCCL takes one collective at a time, whatever is asked for. */
static void run_orders(void)
{
    const bool nccl = transport == MTLM_TRANSPORT_NCCL;
    const int many = times(nccl ? 300 : 1000), few = times(nccl ? 100 : 300);

    expect(run(MTLM_ORDER_BY_LEADER, 0, many, 200) == 0, "wrong sums");
    expect(run(MTLM_ORDER_BY_LEADER, 1, many, 200) == 0, "wrong sums, serial");
    expect(run(MTLM_ORDER_PLANNED, 0, few, 200) == 0, "wrong sums, planned");
    expect(run(MTLM_ORDER_PLANNED, 1, few, 200) == 0,
           "wrong sums, planned, serial");
    if (nccl)
        return;
    astray = true;
    expect(run(MTLM_ORDER_PLANNED, 0, 100, 1000) > 0,
           "every sum is right although each rank has a plan of its own");
}

/* With an argument only what must not end well, or hangs for that many
 * seconds: odd ranks follow a plan of their own. */
int main(int argc, char **argv)
{
    const int seconds = argc > 1 ? atoi(argv[1]) : 200;

    setup(&argc, &argv, TP, 2, seconds);
    seed = rank + 1;
    for (int m = 0; m < MICROBATCHES; m++) {
        x[m] = new_data();
        y[m] = new_data();
    }
    embedding = new_data();
    for (int s = 0; s < SLOTS; s++)
        world[s] = new_data();
    astray = argc > 1;
    if (astray)
        expect(run(MTLM_ORDER_PLANNED, 0, 100, 1000) == 0, "wrong sums");
    else
        run_orders();

    for (int m = 0; m < MICROBATCHES; m++) {
        starpu_data_unregister(x[m]);
        starpu_data_unregister(y[m]);
    }
    starpu_data_unregister(embedding);
    for (int s = 0; s < SLOTS; s++)
        starpu_data_unregister(world[s]);
    return finish();
}
