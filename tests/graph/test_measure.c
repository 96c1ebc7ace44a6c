/* Sums of losses and hits of a task in every layout, beside those of the
 * logits. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/graph/interpreter.h"
#include "tests/graph/small.h"

enum { SAMPLES = 11, B = 2, S = 12, VOCAB = 57, MICROBATCHES = 6 };

static int32_t label[SAMPLES][S];

/* The last rows count, a few of each sample; samples behind the last have none
 * that counts. */
static bool counts(int64_t sample, int64_t row)
{
    return sample < SAMPLES && row >= S - 1 - sample % 4
           && row < S - sample % 2;
}

static int32_t token_of(int64_t sample, int64_t row)
{
    return (int32_t) ((7 + 13 * sample + 5 * row * row) % VOCAB);
}

static void read_task(struct mtlm_samples *source, int64_t sample,
                      enum mtlm_field field, int64_t first, int64_t n,
                      int32_t *values)
{
    (void) source;
    for (int64_t i = first; i < first + n; i++)
        values[i - first] = field == MTLM_FIELD_TOKENS ? token_of(sample, i)
                            : field == MTLM_FIELD_LOSS_MASK ? counts(sample, i)
                            : field == MTLM_FIELD_LABELS && sample < SAMPLES
                                ? label[sample][i]
                                : 0;
}

static struct mtlm_samples source = {.read = read_task};

static struct mtlm_program_config config_of(int tp, int pp, int dp)
{
    struct mtlm_program_config config = small_config(tp, pp, 1);

    config.model.init_std = 0.3;
    config.layout.dp = dp;
    config.valid = &source;
    config.eval_only = true;
    config.micro_batch = B;
    config.eval_microbatches = (MICROBATCHES + dp - 1) / dp;
    config.measure = MTLM_MEASURE_HITS;
    return config;
}

static const mtlm_real *logits_of(struct interpreter *in, int64_t sample,
                                  int64_t row)
{
    const struct mtlm_program *program = interpreter_program(in, 0);
    struct mtlm_tensor *t = program->eval_logits.part[0];
    const mtlm_real *all = interpreter_data_of(in, 0, t, sample / B);

    return all + (row * B + sample % B) * t->shape.dim[2];
}

static int32_t answer(const mtlm_real *logits)
{
    int32_t best = 0;

    for (int32_t k = 1; k < VOCAB; k++)
        if (logits[k] > logits[best])
            best = k;
    return best;
}

static double likelihood(const mtlm_real *logits, int32_t token)
{
    double sum = 0;

    for (int k = 0; k < VOCAB; k++)
        sum += exp(logits[k] - logits[token]);
    return log(sum);
}

/* Lets labels be answers: in every third sample all, in others most. */
static void write_labels(struct interpreter *in)
{
    for (int64_t i = 0; i < SAMPLES; i++)
        for (int64_t k = 0; k < S; k++)
            label[i][k] =
                (answer(logits_of(in, i, k)) + (i % 3 && k == S - 2)) % VOCAB;
}

/* Loss and hits of the logits of one rank, where all microbatches have a
 * slot. */
static void measure_logits(double *loss, double *hits)
{
    struct mtlm_program_config config = config_of(1, 1, 1);
    struct interpreter *in;
    double unused[MTLM_STATUS_EXTRA];

    config.microbatches = MICROBATCHES;
    config.layout.workers = MICROBATCHES;
    in = interpreter_create(&config);
    interpreter_init(in);
    interpreter_measure(in, unused);
    write_labels(in);
    *loss = *hits = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        bool hit = true;

        for (int64_t k = 0; k < S; k++) {
            const mtlm_real *logits = logits_of(in, i, k);

            if (!counts(i, k))
                continue;
            *loss += likelihood(logits, label[i][k]);
            hit = hit && answer(logits) == label[i][k];
        }
        *hits += hit;
    }
    interpreter_destroy(in);
}

static void check_layout(struct mtlm_program_config config, double loss,
                         double hits)
{
    struct interpreter *in = interpreter_create(&config);
    double report[MTLM_STATUS_EXTRA];

    interpreter_init(in);
    interpreter_measure(in, report);
    if (fabs(report[MTLM_STATUS_LOSS] / loss - 1) > 1e-10
        || report[MTLM_STATUS_SOP_HITS] != hits)
        fail_msg("%d x %d x %d, %d parts: loss %.15g, hits %g; not %.15g, %g",
                 config.layout.tp, config.layout.pp, config.layout.dp,
                 config.row_parts, report[MTLM_STATUS_LOSS],
                 report[MTLM_STATUS_SOP_HITS], loss, hits);
    interpreter_destroy(in);
}

static void test_all_layouts_have_the_scores_of_the_logits(void **state)
{
    double loss, hits;

    (void) state;
    measure_logits(&loss, &hits);
    assert_true(hits >= SAMPLES / 3 && hits < SAMPLES && loss > 1);
    for (int tp = 1; tp <= 4; tp *= 2)
        for (int pp = 1; pp <= 2; pp++)
            for (int dp = 1; dp <= 4 && tp * pp * dp < 16; dp++)
                for (int parts = 1; parts <= 3; parts++) {
                    struct mtlm_program_config config = config_of(tp, pp, dp);

                    config.row_parts = parts;
                    check_layout(config, loss, hits);
                    config.sequence_parallel = tp > 1 && parts == 1;
                    if (config.sequence_parallel)
                        check_layout(config, loss, hits);
                }
}

/* Without hits, the graph has no node for them. */
static void test_sums_need_no_hits(void **state)
{
    struct mtlm_program_config config = config_of(2, 1, 1);
    double loss, hits;

    (void) state;
    measure_logits(&loss, &hits);
    config.measure = MTLM_MEASURE_SUMS;
    check_layout(config, loss, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_layouts_have_the_scores_of_the_logits),
        cmocka_unit_test(test_sums_need_no_hits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
