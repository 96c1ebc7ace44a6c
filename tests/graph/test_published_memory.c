/* Memory of published code against rows by hand, and against measured ones. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/predict/outline.h"
#include "graph/predict/plan.h"
#include "graph/predict/profile.h"
#include "graph/predict/published_memory.h"
#include "tests/graph/small.h"

static const double rounding = 1e-9;

/* A job of a paper. */
struct job {
    int layers, hidden, heads, seq_length, tp, pp, v;
    int64_t micro_batch, microbatches;
};

/* The models of arXiv 2205.05198, table 3. */
static const struct job jobs[] = {{48, 6144, 64, 2048, 8, 1, 1, 4, 1},
                                  {96, 12288, 96, 2048, 8, 8, 3, 1, 64},
                                  {105, 20480, 128, 2048, 8, 35, 3, 1, 280},
                                  {128, 25600, 160, 2048, 8, 64, 1, 1, 512}};

enum { JOBS = sizeof(jobs) / sizeof(jobs[0]) };

static struct mtlm_program_config config_of(const struct job *job,
                                            const char *profile)
{
    struct mtlm_program_config config =
        small_config(job->tp, job->pp, job->microbatches);

    config.model.num_layers = job->layers;
    config.model.hidden_size = job->hidden;
    config.model.ffn_hidden_size = 4 * job->hidden;
    config.model.num_heads = job->heads;
    config.model.seq_length = config.model.max_positions = job->seq_length;
    config.model.vocab_size = 50257;
    config.model.vocab_multiple = 128;
    config.layout.virtual_stages = job->v;
    config.micro_batch = job->micro_batch;
    config.eval_microbatches = 0;
    config.schedule = small_schedule(job->v > 1 ? "interleaved" : "1f1b");
    config.value = MTLM_F16;
    config.recompute.num_layers = 1;
    mtlm_profile_apply(mtlm_profile_find(profile), &config);
    return config;
}

/* Bytes of a microbatch in all layers of the model. */
static double model_bytes(const struct mtlm_program_config *config)
{
    struct mtlm_activation_memory memory = mtlm_published_memory_stages(config);
    double bytes = 0;

    for (int k = 0; k < mtlm_layout_stages(&config->layout); k++)
        bytes += memory.stage[k];
    free(memory.stage);
    return bytes;
}

static double sbh(const struct mtlm_program_config *config)
{
    return (double) config->model.seq_length * config->micro_batch
           * config->model.hidden_size;
}

/* ---- formulas ---- */

/* 22 billion parameters: t = 8, 5as/h = 320/3.  Rows of table 2 of the paper.
 */
static void test_a_layer_has_the_bytes_of_table_2(void **state)
{
    static const struct {
        int granularity;
        bool splits;
        double sbh;
        const char *text;
    } rows[] = {
        {MTLM_RECOMPUTE_NONE, false, 10 + 3 + 320 / 24.0,
         "sbh(10 + 24/t + 5as/ht)"},
        {MTLM_RECOMPUTE_NONE, true, (34 + 320 / 3.0) / 8, "sbh/t (34 + 5as/h)"},
        {MTLM_RECOMPUTE_SELECTIVE, false, 13, "sbh(10 + 24/t)"},
        {MTLM_RECOMPUTE_SELECTIVE, true, 4.25, "34 sbh/t"},
        {MTLM_RECOMPUTE_FULL, false, 2, "2sbh"},
        {MTLM_RECOMPUTE_FULL, true, .25, "2sbh/t"}};
    struct mtlm_program_config config = config_of(&jobs[0], "2022");

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        config.recompute.granularity = rows[i].granularity;
        config.sequence_parallel = rows[i].splits;
        assert_float_equal(model_bytes(&config) / (48 * sbh(&config)),
                           rows[i].sbh, rounding);
        assert_string_equal(mtlm_published_memory_text(&config), rows[i].text);
    }
}

/* Groups of four layers keep an input each; blocks keep the other layers. */
static void test_groups_and_blocks_of_layers(void **state)
{
    struct mtlm_program_config config = config_of(&jobs[0], "2022");

    (void) state;
    config.sequence_parallel = true;
    config.recompute.granularity = MTLM_RECOMPUTE_FULL;
    config.recompute.num_layers = 4;
    assert_float_equal(model_bytes(&config) / sbh(&config), 12 * .25, rounding);
    config.recompute.method = MTLM_RECOMPUTE_BLOCK;
    assert_float_equal(model_bytes(&config) / sbh(&config),
                       4 * .25 + 44 * (34 + 320 / 3.0) / 8, 1e-6);
}

static void test_a_parameter_has_the_bytes_of_its_code(void **state)
{
    static const struct {
        const char *profile;
        enum mtlm_dtype value;
        int weight, gradient, optimizer;
    } rows[] = {{"2019", MTLM_F16, 2, 2, 16},
                {"2021", MTLM_F16, 2, 2, 16},
                {"2021", MTLM_BF16, 2, 4, 12},
                {"2022", MTLM_F16, 2, 4, 12},
                {"2022", MTLM_REAL, 4, 4, 8}};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mtlm_program_config config =
            config_of(&jobs[0], rows[i].profile);
        struct mtlm_published_state bytes;

        config.value = rows[i].value;
        bytes = mtlm_published_memory_state(&config);
        assert_true(bytes.weight == rows[i].weight);
        assert_true(bytes.gradient == rows[i].gradient);
        assert_true(bytes.optimizer == rows[i].optimizer);
    }
}

/* ---- ranks ---- */

static struct mtlm_plan plan_of(struct mtlm_program_config config, int rank)
{
    config.outline = true;
    mtlm_layout_place(&config.layout, rank * config.layout.tp);
    return mtlm_outline_stage(&config, rank, 0);
}

/* 1F1B has p - r microbatches in flight, at most m.  The ranks between the ends
 * of the model keep nothing else. */
static void test_a_rank_keeps_its_microbatches(void **state)
{
    struct mtlm_program_config config = config_of(&jobs[3], "2022");

    (void) state;
    config.sequence_parallel = true;
    for (int rank = 1; rank < 63; rank += 20)
        assert_float_equal(plan_of(config, rank).activation_bytes,
                           2 * (34 + 64) / 8. * sbh(&config) * (64 - rank), 1);
    config.microbatches = 5;
    assert_float_equal(plan_of(config, 30).activation_bytes,
                       2 * (34 + 64) / 8. * sbh(&config) * 5, 1);
}

/* The first stage of the interleaved schedule keeps L (1 + (p - 1) / (p v))
 * layers; the embedding's masks take sbhp / t, and selective recomputation the
 * scores of a layer. */
static void test_interleaving_keeps_more(void **state)
{
    struct mtlm_program_config config = config_of(&jobs[1], "2022");

    (void) state;
    config.sequence_parallel = true;
    config.recompute.granularity = MTLM_RECOMPUTE_SELECTIVE;
    assert_float_equal(
        plan_of(config, 0).activation_bytes,
        sbh(&config) / 8 * (34 * 96 * (1 + 7 / 24.) + 8 + 5 * 96 / 6.), 1);
}

/* The only rank of a pipeline keeps the ends of the model: 4sbh/t (1 + V/h),
 * with the padded vocabulary, and a mask. */
static void test_one_stage_keeps_the_logits(void **state)
{
    struct mtlm_program_config config = config_of(&jobs[0], "2022");

    (void) state;
    config.sequence_parallel = true;
    assert_float_equal(
        plan_of(config, 0).activation_bytes,
        sbh(&config) / 8 * (48 * (34 + 320 / 3.) + 1 + 4 * (1 + 51200 / 6144.)),
        1);
}

/* ---- published facts ---- */

enum { A100 = 80 }; /* GiB */

static double gib_of(const struct mtlm_program_config *config, int rank)
{
    const struct mtlm_plan plan = plan_of(*config, rank);

    return mtlm_plan_gpu_bytes(&plan) / (1 << 30);
}

/* None of the paper's jobs fits without its techniques, and all fit with them
 * (figure 1). */
static void test_the_techniques_make_the_jobs_fit(void **state)
{
    (void) state;
    for (int i = 0; i < JOBS; i++) {
        struct mtlm_program_config config = config_of(&jobs[i], "2022");

        assert_true(gib_of(&config, 0) > A100);
        config.sequence_parallel = true;
        config.recompute.granularity = MTLM_RECOMPUTE_SELECTIVE;
        assert_true(gib_of(&config, 0) < A100);
    }
}

/* Table 4 of arXiv 2401.10241 has the measured memory of 1F1B in GB: 30, 39, 32
 * and 43.  The first and the last stage have a layer less. */
static void test_measured_memory_is_near(void **state)
{
    static const struct {
        struct job job;
        double measured;
    } rows[] = {{{22, 2304, 24, 1024, 1, 8, 1, 6, 24}, 30},
                {{30, 4096, 32, 1024, 1, 8, 1, 3, 24}, 39},
                {{46, 5120, 40, 1024, 1, 16, 1, 1, 48}, 32},
                {{62, 6144, 48, 1024, 1, 32, 1, 1, 96}, 43}};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct job *job = &rows[i].job;
        struct mtlm_program_config config = config_of(job, "deepspeed");
        int64_t stage_layers[32];
        double most = 0;

        for (int k = 0; k < job->pp; k++)
            stage_layers[k] =
                (job->layers + 2) / job->pp - (k == 0 || k == job->pp - 1);
        config.layout.stage_layers = stage_layers;
        for (int rank = 0; rank < 2; rank++) {
            const double gib = gib_of(&config, rank);

            most = gib > most ? gib : most;
        }
        assert_float_equal(most / rows[i].measured, 1, .1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_layer_has_the_bytes_of_table_2),
        cmocka_unit_test(test_groups_and_blocks_of_layers),
        cmocka_unit_test(test_a_parameter_has_the_bytes_of_its_code),
        cmocka_unit_test(test_a_rank_keeps_its_microbatches),
        cmocka_unit_test(test_interleaving_keeps_more),
        cmocka_unit_test(test_one_stage_keeps_the_logits),
        cmocka_unit_test(test_the_techniques_make_the_jobs_fit),
        cmocka_unit_test(test_measured_memory_is_near),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
