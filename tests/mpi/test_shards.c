/* Gradients of several tensors, padded as an arena pads them, are reduced and
 * scattered, weights gathered again: every element of every piece must be the
 * sum, and every rank must have all new weights.  One group has the boundary
 * of its blocks in the padding, the other inside tensors.  Some have their
 * sums in place of the gradients.  Several buckets are under way at a time;
 * tasks delay them differently on each rank. */

#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/memory.h"
#include "runtime/machine/arena.h"
#include "runtime/machine/data.h"
#include "runtime/machine/gpu_detect.h"
#include "support.h"

enum { TENSORS = 2, PIECES = 2, BUCKETS = 4, ROUNDS = 100 };

/* Elements, and where they lie in the bucket. */
static const int elems[TENSORS] = {100, 90}, offset[TENSORS] = {0, 112};
enum { BUCKET = 112 + 96 };

/* Of a rank with a GPU on that, with a copy on the host for messages by MPI. */
struct memory {
    struct mtlm_arena arena, stage;
};

struct bucket {
    enum mtlm_group group;
    bool in_place;
    int number, ranks, me, block; /* block: elements of a rank's share */
    int n_pieces, before;         /* padding before the first piece */
    int first[PIECES], n[PIECES]; /* of the bucket, per piece */
    int of[PIECES];               /* the tensor that it is a piece of */
    struct memory gradient, weight, gradient_block, weight_block;
    starpu_data_handle_t gradients[TENSORS], weights[TENSORS];
    starpu_data_handle_t gradient_pieces[PIECES], weight_pieces[PIECES];
};

/* What a task does to the elements first .. first + n - 1 of a bucket. */
struct work {
    const struct bucket *bucket;
    int round, first, n, delay_us;
};

static atomic_long wrong;

static float gradient_of(int of, int round, int bucket, int i)
{
    return (of + 1) * 1000 + round % 50 * 10 + bucket + i % 7;
}

static bool in_group(const struct bucket *b, int r)
{
    return b->group == MTLM_GROUP_WORLD || r % 2 == rank % 2;
}

static float sum_of(const struct bucket *b, int round, int i)
{
    float sum = 0;

    for (int r = 0; r < size; r++)
        sum += in_group(b, r) ? gradient_of(r, round, b->number, i) : 0;
    return sum;
}

/* --- tasks -------------------------------------------------------------- */

static float *elements(void *buffer)
{
    return (float *) STARPU_VECTOR_GET_PTR(buffer);
}

static void make_gradient(void *buffer[], void *arg)
{
    const struct work *w = arg;

    usleep(w->delay_us);
    for (int i = 0; i < w->n; i++)
        elements(buffer[0])[i] =
            gradient_of(rank, w->round, w->bucket->number, w->first + i);
}

/* New weights: the gradient's sum, negative. */
static void step(void *buffer[], void *arg)
{
    const struct work *w = arg;

    usleep(w->delay_us);
    for (int i = 0; i < w->n; i++) {
        wrong +=
            elements(buffer[0])[i] != sum_of(w->bucket, w->round, w->first + i);
        elements(buffer[1])[i] = -elements(buffer[0])[i];
    }
}

static void clear_gradient(void *buffer[], void *arg)
{
    const struct work *w = arg;

    for (int i = 0; i < w->n; i++)
        elements(buffer[1])[i] = 0;
}

static void check_weight(void *buffer[], void *arg)
{
    const struct work *w = arg;

    for (int i = 0; i < w->n; i++)
        wrong += elements(buffer[0])[i]
                 != -sum_of(w->bucket, w->round, w->first + i);
}

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t read,
                   starpu_data_handle_t written, struct work work)
{
    struct starpu_task *task = starpu_task_create();
    struct work *arg = malloc(sizeof(*arg));

    *arg = work;
    arg->delay_us = rand() % 3 ? 0 : rand() % 500;
    task->cl = codelet;
    task->cl_arg = arg;
    task->cl_arg_size = sizeof(*arg);
    task->cl_arg_free = 1;
    task->handles[0] = read ? read : written;
    task->handles[read ? 1 : 0] = written;
    MTLM_CHECK_STARPU(starpu_task_submit(task));
}

static struct starpu_codelet make_codelet = {
    .cpu_funcs = {make_gradient}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet step_codelet = {
    .cpu_funcs = {step}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}};
static struct starpu_codelet clear_codelet = {.cpu_funcs = {clear_gradient},
                                              .nbuffers = 2,
                                              .modes = {STARPU_W, STARPU_W}};
static struct starpu_codelet check_codelet = {
    .cpu_funcs = {check_weight}, .nbuffers = 1, .modes = {STARPU_R}};

/* --- buckets ------------------------------------------------------------ */

static void create_memory(struct memory *memory)
{
    const size_t bytes = mtlm_arena_padded(BUCKET * sizeof(float));
    const unsigned home = mtlm_data_home();

    *memory = (struct memory){0};
    if (home == STARPU_MAIN_RAM) {
        mtlm_arena_create(&memory->arena, bytes);
        return;
    }
    mtlm_arena_create_on(&memory->arena, bytes, home);
    mtlm_arena_create_on(&memory->stage, bytes, STARPU_MAIN_RAM);
}

static void destroy_memory(struct memory *memory)
{
    mtlm_arena_destroy(&memory->arena);
    mtlm_arena_destroy(&memory->stage);
}

static starpu_data_handle_t part(const struct memory *memory, int at, int n)
{
    starpu_data_handle_t handle = mtlm_data_register_on(
        mtlm_data_home(), (float *) memory->arena.memory + at, n, MTLM_REAL,
        "part");

    if (memory->stage.memory)
        mtlm_data_stage(handle, (float *) memory->stage.memory + at);
    return handle;
}

/* The tensors' elements in this rank's block. */
static void find_pieces(struct bucket *b)
{
    const int begin = b->me * b->block, end = begin + b->block;

    for (int t = 0; t < TENSORS; t++) {
        const int from = offset[t] > begin ? offset[t] : begin;
        const int last = offset[t] + elems[t], to = last < end ? last : end;

        if (from >= to)
            continue;
        b->first[b->n_pieces] = from;
        b->n[b->n_pieces] = to - from;
        b->of[b->n_pieces] = t;
        b->gradient_pieces[b->n_pieces] =
            b->in_place ? part(&b->gradient, from, to - from)
                        : part(&b->gradient_block, from - begin, to - from);
        b->weight_pieces[b->n_pieces++] =
            part(&b->weight_block, from - begin, to - from);
    }
    b->before = b->first[0] - begin;
}

static void create(struct bucket *b, int number)
{
    *b = (struct bucket){.group = number % 2 ? MTLM_GROUP_WORLD : MTLM_GROUP_DP,
                         .in_place = number >= 2,
                         .number = number};
    b->ranks = mtlm_ranks_group_size(ranks, b->group);
    b->me = mtlm_ranks_group_rank(ranks, b->group);
    b->block = BUCKET / b->ranks;
    create_memory(&b->gradient);
    create_memory(&b->weight);
    create_memory(&b->gradient_block);
    create_memory(&b->weight_block);
    for (int t = 0; t < TENSORS; t++) {
        b->gradients[t] = part(&b->gradient, offset[t], elems[t]);
        b->weights[t] = part(&b->weight, offset[t], elems[t]);
    }
    find_pieces(b);
}

static void destroy(struct bucket *b)
{
    for (int t = 0; t < TENSORS; t++) {
        starpu_data_unregister(b->gradients[t]);
        starpu_data_unregister(b->weights[t]);
    }
    for (int p = 0; p < b->n_pieces; p++) {
        starpu_data_unregister(b->gradient_pieces[p]);
        starpu_data_unregister(b->weight_pieces[p]);
    }
    destroy_memory(&b->gradient);
    destroy_memory(&b->weight);
    destroy_memory(&b->gradient_block);
    destroy_memory(&b->weight_block);
}

/* --- the test ----------------------------------------------------------- */

static void submit_round(struct bucket *b, int round)
{
    struct mtlm_message message = {.kind = MTLM_REDUCE_SCATTER,
                                   .handle = b->gradients,
                                   .n_handles = TENSORS,
                                   .into = b->gradient_pieces,
                                   .n_into = b->n_pieces,
                                   .into_before = b->before,
                                   .count = BUCKET,
                                   .group = b->group,
                                   .priority = rand() % 100};

    for (int t = 0; t < TENSORS; t++)
        submit(&make_codelet, NULL, b->gradients[t],
               (struct work){b, round, offset[t], elems[t], 0});
    mtlm_message_post(engine, &message);
    for (int p = 0; p < b->n_pieces; p++)
        submit(&step_codelet, b->gradient_pieces[p], b->weight_pieces[p],
               (struct work){b, round, b->first[p], b->n[p], 0});
    for (int p = 0; p < b->n_pieces && b->in_place; p++)
        submit(&clear_codelet, b->gradient_pieces[p], b->gradients[b->of[p]],
               (struct work){b, round, 0, elems[b->of[p]], 0});
    message.kind = MTLM_ALL_GATHER;
    message.handle = b->weight_pieces;
    message.n_handles = b->n_pieces;
    message.before = b->before;
    message.into = b->weights;
    message.n_into = TENSORS;
    message.into_before = 0;
    message.count = b->block;
    mtlm_message_post(engine, &message);
    for (int t = 0; t < TENSORS; t++)
        submit(&check_codelet, b->weights[t], NULL,
               (struct work){b, round, offset[t], elems[t], 0});
}

static void run(struct bucket bucket[BUCKETS], int max_in_flight)
{
    start_engine(MTLM_ORDER_BY_LEADER, max_in_flight, NULL);
    for (int round = 0; round < times(ROUNDS); round++)
        for (int b = 0; b < BUCKETS; b++)
            submit_round(&bucket[b], round);
    MTLM_CHECK_STARPU(starpu_task_wait_for_all());
    stop_engine();
    expect(wrong == 0, "%ld elements are wrong, %d collectives at a time",
           (long) wrong, max_in_flight);
}

/* Plans may count on all that is free. */
static void fill_gpu(void)
{
    const unsigned home = mtlm_data_home();
    struct mtlm_arena arena;

    if (home == STARPU_MAIN_RAM || !getenv("MTLM_TEST_FILL_GPU"))
        return;
    mtlm_arena_create_on(&arena, 0.97 * mtlm_gpu_detect_free_bytes(0), home);
    mtlm_arena_destroy(&arena);
}

int main(int argc, char **argv)
{
    struct bucket bucket[BUCKETS];

    setup(&argc, &argv, 2, 2, 100);
    srand(rank + 1);
    for (int b = 0; b < BUCKETS; b++)
        create(&bucket[b], b);
    expect(bucket[0].me == 0 || bucket[0].before == 8,
           "%d elements of padding before the first piece", bucket[0].before);
    run(bucket, 0);
    run(bucket, 1);
    fill_gpu();
    for (int b = 0; b < BUCKETS; b++)
        destroy(&bucket[b]);
    return finish();
}
