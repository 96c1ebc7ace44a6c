/* Writes DIR/NAME-LAYOUT.safetensors for small BERTs with the heads of
 * fine-tuning tasks, for tests/reference/tasks_torch.py: weights, samples,
 * losses and gradients of an iteration without dropout, in double precision.
 *
 *   "NAME", "NAME.grad"            F64, with the vocabulary's padding
 *   "tokens", "types"              I32 [samples, s]
 *   "length", "class", "start", "end"  I32 [samples]
 *   "loss", "hits"                 F64
 *
 * Usage: task_values DIR */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "codelets/control_slots.h"
#include "models/weights/safetensors.h"
#include "tests/graph/small.h"
#include "tests/graph/weights.h"

static const struct {
    enum mtlm_field field;
    const char *name;
} fields[] = {{MTLM_FIELD_TOKENS, "tokens"}, {MTLM_FIELD_TYPES, "types"},
              {MTLM_FIELD_LENGTH, "length"}, {MTLM_FIELD_CLASS, "class"},
              {MTLM_FIELD_START, "start"},   {MTLM_FIELD_END, "end"}};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static void add_field(struct mtlm_safetensors_writer *writer,
                      const struct mtlm_program_config *config, int f,
                      int32_t **values)
{
    const int64_t n =
        config->micro_batch * config->microbatches * config->layout.dp;
    const int64_t s = config->model.seq_length;
    const int64_t size = mtlm_field_size(fields[f].field, s);

    *values = mtlm_calloc(n * size, sizeof(**values));
    for (int64_t i = 0; i < n; i++)
        mtlm_samples_read(config->train, i, fields[f].field, 0, size,
                          *values + i * size);
    mtlm_safetensors_writer_add(writer, fields[f].name, MTLM_SAFETENSORS_I32,
                                size > 1 ? 2 : 1, (const int64_t[]){n, size},
                                *values);
}

static void add_param(struct mtlm_safetensors_writer *writer,
                      const struct weight *w, const char *suffix,
                      const mtlm_real *values)
{
    const struct mtlm_parameter p = {.info = w->info, .layer = w->layer};
    char *name = mtlm_parameter_name(&p, suffix);

    mtlm_safetensors_writer_add(
        writer, name, MTLM_SAFETENSORS_F64, w->info.cols == 1 ? 1 : 2,
        (const int64_t[]){w->info.rows, w->info.cols}, values);
    free(name);
}

static int write_values(const char *path,
                        const struct mtlm_program_config *config,
                        struct mtlm_error *err)
{
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(path);
    struct interpreter *in = weights_start(config, 0.1);
    mtlm_real **weight = weights_read(in, 0), **grad;
    int32_t *values[FIELDS];
    double loss, hits;
    int rc;

    interpreter_iteration(in, 0, true);
    grad = weights_read(in, 1);
    loss = weights_control(in, 0, MTLM_CONTROL_LOSS);
    hits = weights_control(in, 0, MTLM_CONTROL_SOP_HITS);
    for (int64_t i = 0; i < mtlm_param_numbers(&config->model); i++) {
        const struct weight w = weight_number(config, i);

        if (!weight_exists(config, i))
            continue;
        add_param(writer, &w, "", weight[i]);
        add_param(writer, &w, ".grad", grad[i]);
    }
    for (int f = 0; f < FIELDS; f++)
        add_field(writer, config, f, &values[f]);
    mtlm_safetensors_writer_add(writer, "loss", MTLM_SAFETENSORS_F64, 0, NULL,
                                &loss);
    mtlm_safetensors_writer_add(writer, "hits", MTLM_SAFETENSORS_F64, 0, NULL,
                                &hits);
    rc = mtlm_safetensors_writer_commit(writer, err);
    mtlm_safetensors_writer_destroy(writer);
    for (int f = 0; f < FIELDS; f++)
        free(values[f]);
    weights_free(in, weight);
    weights_free(in, grad);
    interpreter_destroy(in);
    return rc;
}

static const struct {
    const char *name, *schedule; /* NULL: the default */
    int tp, pp, dp;
    bool recompute;
} layouts[] = {
    {"one", NULL, 1, 1, 1, false},      {"p2", NULL, 1, 2, 1, false},
    {"t2", NULL, 2, 1, 1, false},       {"p2t2", NULL, 2, 2, 1, false},
    {"d2", NULL, 1, 1, 2, false}, /* with the distributed optimizer */
    {"zb-h1", "zb-h1", 1, 2, 1, false}, {"recompute", NULL, 1, 1, 1, true},
};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

/* Two microbatches, on whatever replicas. */
static struct mtlm_program_config config_of(const struct small_model *model,
                                            int l)
{
    struct mtlm_program_config config = small_model_config(
        model, layouts[l].tp, layouts[l].pp, 2 / layouts[l].dp);

    config.layout.dp = layouts[l].dp;
    config.distributed_optimizer = layouts[l].dp > 1;
    if (layouts[l].recompute)
        config.recompute = (struct mtlm_recompute){MTLM_RECOMPUTE_FULL,
                                                   MTLM_RECOMPUTE_UNIFORM, 1};
    config.schedule = small_schedule(layouts[l].schedule);
    config.model.hidden_dropout = config.model.attention_dropout = 0;
    return config;
}

int main(int argc, char **argv)
{
    struct mtlm_error err;

    for (int i = 0; argc == 2 && i < small_n_models; i++)
        for (int l = 0; l < LAYOUTS; l++) {
            const struct mtlm_program_config config =
                config_of(&small_models[i], l);
            char *path;
            int rc;

            if (config.model.head == MTLM_HEAD_PRETRAINING)
                continue;
            path = mtlm_sprintf("%s/%s-%s.safetensors", argv[1],
                                small_models[i].name, layouts[l].name);
            rc = write_values(path, &config, &err);
            free(path);
            if (rc < 0)
                return fprintf(stderr, "task_values: %s\n", err.text), 1;
        }
    return argc != 2;
}
