/* Samples whose labels all have the greatest logit, over a split vocabulary. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codelets/control_slots.h"
#include "tests/codelets/support.h"

/* 13 tokens in rows padded to 15: three shards of 5, the last one with 3. */
enum { S = 6, B = 40, ROWS = S * B, V = 13, PADDED = 15, SHARDS = 3 };

/* The logits of all shards, labels and weights; rows of weight 0 hold what
 * would be a miss. */
struct scene {
    mtlm_real logits[ROWS * PADDED], weights[ROWS];
    int32_t labels[ROWS];
};

/* Few values, so that rows have equal logits. */
static struct scene *new_scene(void)
{
    struct scene *x = calloc(1, sizeof(*x));
    mtlm_real *random = new_normal(ROWS * PADDED, 5);
    int32_t *labels = new_tokens(ROWS, V, 6), *weigh = new_tokens(ROWS, 3, 7);

    for (int i = 0; i < ROWS * PADDED; i++)
        x->logits[i] = i % PADDED < V ? (mtlm_real) (int) (2 * random[i]) : 99;
    memcpy(x->labels, labels, sizeof(x->labels));
    for (int r = 0; r < ROWS; r++)
        x->weights[r] = weigh[r] == 0;
    free(random), free(labels), free(weigh);
    return x;
}

/* The first of the greatest logits. */
static int answer(const mtlm_real *row)
{
    int best = 0;

    for (int i = 1; i < V; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

static bool is_hit(const struct scene *x, int sample)
{
    int rows = 0;

    for (int r = sample; r < ROWS; r += B) {
        if (x->weights[r] == 0)
            continue;
        rows++;
        if (answer(x->logits + r * PADDED) != x->labels[r])
            return false;
    }
    return rows > 0;
}

/* Half of the samples become hits by their labels. */
static int make_hits(struct scene *x)
{
    int hits = 0;

    for (int r = 0; r < ROWS; r++)
        if (r % B < B / 2)
            x->labels[r] = answer(x->logits + r * PADDED);
    for (int j = 0; j < B; j++)
        hits += is_hit(x, j);
    return hits;
}

/* Adds what one shard knows to misses [2, B]. */
static void run_misses(struct scene *x, int64_t first, int64_t cols,
                       mtlm_real *misses)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_LABEL_MISSES,
        .attr.vocabulary = {.first = first, .size = V},
        .shape = {MTLM_SHAPE(S, B, cols), MTLM_SHAPE(S, B), MTLM_SHAPE(2, S, B),
                  MTLM_SHAPE(S, B), MTLM_SHAPE(2, B)}};
    mtlm_real *logits = new_zeros(ROWS * cols), *sums = new_zeros(2 * ROWS);

    for (int r = 0; r < ROWS; r++) {
        memcpy(logits + r * cols, x->logits + r * PADDED + first,
               cols * sizeof(*logits));
        sums[ROWS + r] = x->logits[r * PADDED + x->labels[r]];
    }
    run_op(call, (void *[]){logits, x->labels, sums, x->weights, misses}, 0);
    free(logits), free(sums);
}

static double count(mtlm_real *misses)
{
    const struct mtlm_call call = {
        .kind = MTLM_OP_LABEL_HITS,
        .attr.vocabulary = {.slot = MTLM_LOSS_SOP_HITS},
        .shape = {MTLM_SHAPE(2, B), MTLM_SHAPE(MTLM_LOSS_COUNT)}};
    double loss[MTLM_LOSS_COUNT] = {5, 6, 7};

    run_op(call, (void *[]){misses, loss}, 0);
    assert_true(loss[MTLM_LOSS_LM] == 5 && loss[MTLM_LOSS_SOP] == 6);
    return (loss[MTLM_LOSS_SOP_HITS] - 7) / RUN_SHARE;
}

static void test_hits_are_those_of_the_argmax(void **state)
{
    struct scene *x = new_scene();
    const int hits = make_hits(x);
    mtlm_real *misses = new_zeros(2 * B);

    (void) state;
    assert_true(hits > B / 4 && hits < B * 3 / 4);
    run_misses(x, 0, PADDED, misses);
    assert_true(count(misses) == hits);
    free(misses), free(x);
}

static void test_shards_together_are_the_whole(void **state)
{
    struct scene *x = new_scene();
    const int hits = make_hits(x);
    mtlm_real *misses = new_zeros(2 * B);

    (void) state;
    for (int i = 0; i < SHARDS; i++)
        run_misses(x, i * PADDED / SHARDS, PADDED / SHARDS, misses);
    assert_true(count(misses) == hits);
    free(misses), free(x);
}

static void test_of_equal_logits_the_first_is_the_answer(void **state)
{
    (void) state;
    for (int label = 0; label < V; label++)
        for (int other = 0; other < V; other++) {
            struct scene *x = calloc(1, sizeof(*x));
            mtlm_real *misses = new_zeros(2 * B);

            x->labels[0] = label;
            x->weights[0] = 1;
            for (int i = 0; i < PADDED; i++)
                x->logits[i] = -1;
            x->logits[label] = x->logits[other] = 3;
            for (int i = 0; i < SHARDS; i++)
                run_misses(x, i * PADDED / SHARDS, PADDED / SHARDS, misses);
            assert_true(count(misses) == (label <= other));
            free(misses), free(x);
        }
}

/* Without a label that counts, a sample is no hit. */
static void test_samples_without_labels_do_not_count(void **state)
{
    struct scene *x = calloc(1, sizeof(*x));
    mtlm_real *misses = new_zeros(2 * B);

    (void) state;
    run_misses(x, 0, PADDED, misses);
    assert_true(count(misses) == 0);
    free(misses), free(x);
}

static void test_what_is_no_number_is_no_hit(void **state)
{
    (void) state;
    for (int at = 0; at < V; at++) {
        struct scene *x = calloc(1, sizeof(*x));
        mtlm_real *misses = new_zeros(2 * B);

        x->labels[0] = 4;
        x->weights[0] = 1;
        x->logits[4] = 3;
        x->logits[at] = (mtlm_real) NAN;
        run_misses(x, 0, PADDED, misses);
        assert_true(count(misses) == 0);
        free(misses), free(x);
    }
}

static void test_shapes_that_do_not_fit_are_refused(void **state)
{
    const struct mtlm_shape rows = MTLM_SHAPE(S, B);

    (void) state;
    assert_refused((struct mtlm_call){.kind = MTLM_OP_LABEL_MISSES,
                                      .shape = {MTLM_SHAPE(S, B, V), rows,
                                                MTLM_SHAPE(2, S, B), rows,
                                                MTLM_SHAPE(2, S)}},
                   "label_misses: misses is [2, 6], needs [2, 40]");
    assert_refused(
        (struct mtlm_call){.kind = MTLM_OP_LABEL_HITS,
                           .shape = {MTLM_SHAPE(2, B), MTLM_SHAPE(1)}},
        "label_hits: loss is [1], needs [3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hits_are_those_of_the_argmax),
        cmocka_unit_test(test_shards_together_are_the_whole),
        cmocka_unit_test(test_of_equal_logits_the_first_is_the_answer),
        cmocka_unit_test(test_samples_without_labels_do_not_count),
        cmocka_unit_test(test_what_is_no_number_is_no_hit),
        cmocka_unit_test(test_shapes_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
