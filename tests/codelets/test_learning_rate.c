/* Learning rate and weight decay: against what Megatron-LM's scheduler gave
 * for the same numbers, and against the formulas in another form. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "codelets/learning_rate.h"

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-13 * fabs(want)))
        fail_msg("%.17g is not %.17g", got, want);
}

/* The schedule of GPT-3, in thousands of samples. */
#define GPT3                                                                   \
    .lr = 6e-4, .min_lr = 6e-5, .warmup_samples = 126.953,                     \
    .decay_samples = 126953, .end_weight_decay = 0.1,                          \
    .weight_decay_samples = 146484
#define WSD                                                                    \
    .style = MTLM_LR_WSD, .lr = 6e-4, .min_lr = 6e-5, .warmup_samples = 100,   \
    .decay_samples = 1000, .wsd_samples = 200,                                 \
    .weight_decay_style = MTLM_WEIGHT_DECAY_COSINE, .weight_decay = 0.02,      \
    .end_weight_decay = 0.1, .weight_decay_samples = 1000

enum {
    LINEAR,
    COSINE,
    CONSTANT,
    ROOT,
    ROOT_COLD,
    WSD_EXPONENTIAL,
    WSD_LINEAR,
    WSD_COSINE
};

static const struct mtlm_lr_schedule schedules[] = {
    [LINEAR] = {GPT3, .style = MTLM_LR_LINEAR, .weight_decay = 0.1},
    [COSINE] = {GPT3, .style = MTLM_LR_COSINE, .warmup_init = 1e-5,
                .weight_decay_style = MTLM_WEIGHT_DECAY_LINEAR,
                .weight_decay = 0.02},
    [CONSTANT] = {GPT3, .style = MTLM_LR_CONSTANT,
                  .weight_decay_style = MTLM_WEIGHT_DECAY_COSINE,
                  .weight_decay = 0.02},
    [ROOT] = {.style = MTLM_LR_INVERSE_SQUARE_ROOT,
              .lr = 6e-4,
              .min_lr = 6e-5,
              .warmup_samples = 4000,
              .decay_samples = 400000,
              .weight_decay_style = MTLM_WEIGHT_DECAY_COSINE,
              .weight_decay = 0.02,
              .end_weight_decay = 0.1,
              .weight_decay_samples = 146484},
    [ROOT_COLD] = {.style = MTLM_LR_INVERSE_SQUARE_ROOT,
                   .lr = 6e-4,
                   .min_lr = 6e-5,
                   .decay_samples = 400,
                   .weight_decay_style = MTLM_WEIGHT_DECAY_LINEAR,
                   .weight_decay = 0.02,
                   .end_weight_decay = 0.1,
                   .weight_decay_samples = 146484},
    [WSD_EXPONENTIAL] = {WSD, .wsd_style = MTLM_WSD_EXPONENTIAL},
    [WSD_LINEAR] = {WSD, .wsd_style = MTLM_WSD_LINEAR},
    [WSD_COSINE] = {WSD, .wsd_style = MTLM_WSD_COSINE},
};

/* What OptimizerParamScheduler of Megatron-LM core_v0.12.0 printed for these
 * schedules after n samples. */
static const struct {
    int schedule;
    double n, lr, weight_decay;
} megatron[] = {
    {LINEAR, 0, 0, 0.1},
    {LINEAR, 16, 7.56185359936354e-05, 0.1},
    {LINEAR, 126, 0.000595495970949879, 0.1},
    {LINEAR, 127, 0.000599999799883379, 0.1},
    {LINEAR, 63540, 0.000329999899941689, 0.1},
    {LINEAR, 126952, 6.00042578004501e-05, 0.1},
    {LINEAR, 126953, 6e-05, 0.1},
    {LINEAR, 126954, 6e-05, 0.1},
    {LINEAR, 146485, 6e-05, 0.1},
    {COSINE, 0, 1e-05, 0.02},
    {COSINE, 16, 8.43582270604082e-05, 0.020008738155703},
    {COSINE, 126, 0.000595571038100714, 0.0200688129761612},
    {COSINE, 127, 0.000599999999999817, 0.0200693591108927},
    {COSINE, 63540, 0.000329999842828773, 0.0547014008355861},
    {COSINE, 100001, 0.000117970494811095, 0.074614019278556},
    {COSINE, 126952, 6.00000000828355e-05, 0.0893328964255482},
    {COSINE, 126953, 6e-05, 0.0893334425602796},
    {COSINE, 126954, 6e-05, 0.0893339886950111},
    {COSINE, 146484, 6e-05, 0.1},
    {COSINE, 146485, 6e-05, 0.1},
    {COSINE, 200000, 6e-05, 0.1},
    {CONSTANT, 0, 0, 0.02},
    {CONSTANT, 16, 7.56185359936354e-05, 0.0200000023549914},
    {CONSTANT, 127, 0.0006, 0.0200001483735655},
    {CONSTANT, 1000000, 0.0006, 0.1},
    {ROOT, 0, 0, 0.02},
    {ROOT, 64, 9.6e-06, 0.0200000376798565},
    {ROOT, 4000, 0.0006, 0.0201470967178371},
    {ROOT, 4001, 0.000599925014059571, 0.0201471702302501},
    {ROOT, 16000, 0.0003, 0.0223319736384133},
    {ROOT, 100000, 0.00012, 0.0817154378031159},
    {ROOT, 126953, 0.000106502490107252, 0.0965418880905103},
    {ROOT, 399000, 6.00751409186111e-05, 0.1},
    {ROOT, 400000, 6e-05, 0.1},
    {ROOT, 500000, 6e-05, 0.1},
    {ROOT_COLD, 0, 0.0006, 0.02},
    {ROOT_COLD, 1, 0.0006, 0.0200005461347314},
    {ROOT_COLD, 2, 0.000424264068711928, 0.0200010922694629},
    {ROOT_COLD, 50, 8.48528137423857e-05, 0.0200273067365719},
    {WSD_EXPONENTIAL, 50, 0.0003, 0.0204924663761945},
    {WSD_EXPONENTIAL, 100, 0.0006, 0.0219577393481939},
    {WSD_EXPONENTIAL, 800, 0.0006, 0.0923606797749979},
    {WSD_EXPONENTIAL, 801, 0.000596263483854097, 0.0924343832332949},
    {WSD_EXPONENTIAL, 850, 0.000428168128474012, 0.0956402609675347},
    {WSD_EXPONENTIAL, 999, 6.18747441951315e-05, 0.0999998026080743},
    {WSD_EXPONENTIAL, 1000, 6e-05, 0.1},
    {WSD_EXPONENTIAL, 1001, 6e-05, 0.1},
    {WSD_LINEAR, 801, 0.0005973, 0.0924343832332949},
    {WSD_LINEAR, 850, 0.000465, 0.0956402609675347},
    {WSD_LINEAR, 999, 6.27e-05, 0.0999998026080743},
    {WSD_LINEAR, 1000, 6e-05, 0.1},
    {WSD_COSINE, 801, 0.000599966690770048, 0.0924343832332949},
    {WSD_COSINE, 850, 0.000520918830920368, 0.0956402609675347},
    {WSD_COSINE, 999, 6.00333092299516e-05, 0.0999998026080743},
    {WSD_COSINE, 1000, 6e-05, 0.1},
};

static void test_values_are_those_of_megatron(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(megatron) / sizeof(megatron[0]); i++) {
        const struct mtlm_lr_schedule *s = &schedules[megatron[i].schedule];

        assert_near(mtlm_learning_rate(s, megatron[i].n), megatron[i].lr);
        assert_near(mtlm_weight_decay(s, megatron[i].n),
                    megatron[i].weight_decay);
    }
}

static void test_learning_rate_follows_the_closed_formulas(void **state)
{
    struct mtlm_lr_schedule schedule = {
        .lr = 1e-3, .min_lr = 1e-4, .warmup_samples = 10, .decay_samples = 110};

    (void) state;
    for (int n = 0; n <= 10; n++)
        assert_near(mtlm_learning_rate(&schedule, n), 1e-4 * n);
    for (int n = 10; n < 300; n++) {
        const double done = n < 110 ? (n - 10) / 100.0 : 1;

        schedule.style = MTLM_LR_COSINE;
        assert_near(mtlm_learning_rate(&schedule, n),
                    1e-4 + 9e-4 * pow(cos(M_PI / 2 * done), 2));
        schedule.style = MTLM_LR_LINEAR;
        assert_near(mtlm_learning_rate(&schedule, n),
                    1e-3 * (1 - done) + 1e-4 * done);
        schedule.style = MTLM_LR_INVERSE_SQUARE_ROOT;
        assert_near(mtlm_learning_rate(&schedule, n),
                    n > 110 ? 1e-4 : 1e-3 / sqrt(n / 10.));
        schedule.style = MTLM_LR_CONSTANT;
        assert_true(mtlm_learning_rate(&schedule, n) == 1e-3);
    }
}

/* A fraction of the decay need not be a whole number of samples. */
static void test_the_warm_up_ends_between_samples(void **state)
{
    const struct mtlm_lr_schedule schedule = {.style = MTLM_LR_LINEAR,
                                              .lr = 1,
                                              .warmup_samples = 2.5,
                                              .decay_samples = 10};

    (void) state;
    assert_near(mtlm_learning_rate(&schedule, 2), 0.8);
    assert_near(mtlm_learning_rate(&schedule, 3), 1 - 0.5 / 7.5);
}

static void test_without_warm_up_the_first_step_has_all(void **state)
{
    const struct mtlm_lr_schedule schedule = {.style = MTLM_LR_LINEAR,
                                              .lr = 1e-3,
                                              .warmup_init = 1e-5,
                                              .decay_samples = 10};

    (void) state;
    assert_true(mtlm_learning_rate(&schedule, 0) == 1e-3);
    assert_true(mtlm_learning_rate(&schedule, 10) == 0);
    assert_true(mtlm_learning_rate(&schedule, 11) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_those_of_megatron),
        cmocka_unit_test(test_learning_rate_follows_the_closed_formulas),
        cmocka_unit_test(test_the_warm_up_ends_between_samples),
        cmocka_unit_test(test_without_warm_up_the_first_step_has_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
