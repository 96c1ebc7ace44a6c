/* --dump-first-step: one file per rank, rank-R.safetensors.
 *   "NAME"       F32, weights of this rank's shard that the iteration reads
 *   "NAME.grad"  F32, gradient before clipping, unscaled; NaN where the
 *                distributed optimizer sums on another rank
 *   "tokens", "labels", "loss_mask", "types"  I32 [samples, seq_length]
 *   "length", "order"                         I32 [samples]
 *   "loss", "sop_loss" of a binary head, "grad_norm"  F64
 * Metadata "NAME.first" = "row column": place of the shard in the whole. */

#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/train/dump.h"
#include "models/weights/safetensors.h"
#include "runtime/base/value16.h"

struct mtlm_dump {
    struct mtlm_job *job;
    double scale;               /* loss scale of the first iteration */
    mtlm_real **weight, **grad; /* [program->n_params] */
    int32_t *field[MTLM_FIELD_PRETRAINING];
};

struct mtlm_dump *mtlm_dump_create(struct mtlm_job *job)
{
    struct mtlm_dump *dump = mtlm_calloc(1, sizeof(*dump));
    const int n = job->program->n_params;
    double control[MTLM_CONTROL_COUNT];

    /* A dynamic scale goes on where the loaded run ended. */
    mtlm_run_read(job->run, job->program->pass_control, control);
    dump->job = job;
    dump->scale = control[MTLM_CONTROL_LOSS_SCALE];
    dump->weight = mtlm_calloc(n, sizeof(*dump->weight));
    dump->grad = mtlm_calloc(n, sizeof(*dump->grad));
    return dump;
}

static mtlm_real *copy_tensor(struct mtlm_dump *dump,
                              const struct mtlm_tensor *tensor)
{
    const int64_t n = mtlm_tensor_elems(tensor);
    mtlm_real *values = mtlm_calloc(n, sizeof(*values));
    uint16_t *narrow;

    if (tensor->dtype == MTLM_REAL) {
        mtlm_run_read(dump->job->run, tensor, values);
        return values;
    }
    narrow = mtlm_calloc(n, sizeof(*narrow));
    mtlm_run_read(dump->job->run, tensor, narrow);
    mtlm_value16_widen(tensor->dtype, narrow, n, values);
    free(narrow);
    return values;
}

/* The last stage's copy of the word embedding equals the first stage's. */
static bool is_left_out(const struct mtlm_parameter *p)
{
    return p->copy;
}

/* Of two versions, the first iteration reads the one before. */
void mtlm_dump_weights(struct mtlm_dump *dump)
{
    const struct mtlm_program *program = dump->job->program;

    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        if (!is_left_out(p))
            dump->weight[i] =
                copy_tensor(dump, p->before ? p->before : p->weight);
    }
}

/* Elements that another rank sums up are NaN. */
static mtlm_real *copy_gradient(struct mtlm_dump *dump,
                                const struct mtlm_parameter *p)
{
    const int64_t n = mtlm_tensor_elems(p->grad);
    mtlm_real *values = mtlm_calloc(n, sizeof(*values));

    for (int64_t i = 0; i < n; i++)
        values[i] = NAN;
    if (p->reduced)
        mtlm_run_read(dump->job->run, p->reduced, values + p->first);
    for (int64_t i = 0; i < n; i++)
        values[i] /= dump->scale;
    return values;
}

void mtlm_dump_gradients(void *arg)
{
    struct mtlm_dump *dump = arg;
    const struct mtlm_program *program = dump->job->program;

    for (int i = 0; i < program->n_params; i++)
        if (!is_left_out(&program->param[i]))
            dump->grad[i] = copy_gradient(
                dump, mtlm_program_summed(program, &program->param[i]));
}

static void add_parameter(struct mtlm_safetensors_writer *writer,
                          const struct mtlm_parameter *p, const char *suffix,
                          const mtlm_real *values)
{
    char *name = mtlm_parameter_name(p, suffix), *key, *where;

    mtlm_safetensors_writer_add(writer, name, MTLM_SAFETENSORS_F32,
                                p->weight->shape.rank, p->weight->shape.dim,
                                values);
    key = mtlm_sprintf("%s.first", name);
    where = mtlm_sprintf("%" PRId64 " %" PRId64, p->first_row, p->first_col);
    mtlm_safetensors_writer_metadata(writer, key, where);
    free(where);
    free(key);
    free(name);
}

int32_t *mtlm_dump_field(struct mtlm_samples *samples, enum mtlm_field field,
                         const int64_t *number, int64_t n,
                         struct mtlm_safetensors_writer *writer)
{
    static const char *const name[MTLM_FIELD_PRETRAINING] = {
        [MTLM_FIELD_TOKENS] = "tokens",       [MTLM_FIELD_LABELS] = "labels",
        [MTLM_FIELD_LOSS_MASK] = "loss_mask", [MTLM_FIELD_TYPES] = "types",
        [MTLM_FIELD_LENGTH] = "length",       [MTLM_FIELD_ORDER] = "order"};
    const int64_t size = mtlm_field_size(field, samples->seq_length);
    const bool vector = field >= MTLM_FIELD_LENGTH;
    int32_t *values = mtlm_calloc(n * size, sizeof(*values));

    for (int64_t i = 0; i < n; i++)
        mtlm_samples_read(samples, number[i], field, 0, size,
                          values + i * size);
    mtlm_safetensors_writer_add(writer, name[field], MTLM_SAFETENSORS_I32,
                                vector ? 1 : 2, (const int64_t[]){n, size},
                                values);
    return values;
}

static void add_fields(struct mtlm_dump *dump,
                       struct mtlm_safetensors_writer *writer)
{
    const struct mtlm_job *job = dump->job;
    const int64_t n = job->options.dump_samples > 0 ? job->options.dump_samples
                                                    : job->begin.batch;
    int64_t *number = mtlm_calloc(n, sizeof(*number));

    for (int64_t i = 0; i < n; i++)
        number[i] = job->begin.samples + i;
    for (int f = 0; f < MTLM_FIELD_PRETRAINING; f++)
        dump->field[f] =
            mtlm_dump_field(job->train.samples, f, number, n, writer);
    free(number);
}

void mtlm_dump_destroy(struct mtlm_dump *dump)
{
    if (!dump)
        return;
    for (int i = 0; i < dump->job->program->n_params; i++) {
        free(dump->weight[i]);
        free(dump->grad[i]);
    }
    free(dump->weight);
    free(dump->grad);
    for (int i = 0; i < MTLM_FIELD_PRETRAINING; i++)
        free(dump->field[i]);
    free(dump);
}

static void add_number(struct mtlm_safetensors_writer *writer, const char *name,
                       const double *value)
{
    mtlm_safetensors_writer_add(writer, name, MTLM_SAFETENSORS_F64, 0, NULL,
                                value);
}

int mtlm_dump_write(struct mtlm_dump *dump,
                    const double report[MTLM_CONTROL_COUNT],
                    struct mtlm_error *err)
{
    const struct mtlm_program *program = dump->job->program;
    char *path =
        mtlm_sprintf("%s/rank-%d.safetensors", dump->job->options.dump_dir,
                     mtlm_ranks_rank(dump->job->ranks));
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(path);
    int rc;

    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        if (is_left_out(p))
            continue;
        add_parameter(writer, p, "", dump->weight[i]);
        add_parameter(writer, p, ".grad", dump->grad[i]);
    }
    add_fields(dump, writer);
    add_number(writer, "loss", &report[MTLM_CONTROL_LOSS]);
    if (program->config.model.binary_head)
        add_number(writer, "sop_loss", &report[MTLM_CONTROL_SOP]);
    add_number(writer, "grad_norm", &report[MTLM_CONTROL_NORM]);
    rc = mtlm_safetensors_writer_commit(writer, err);
    mtlm_safetensors_writer_destroy(writer);
    free(path);
    mtlm_dump_destroy(dump);
    return rc;
}
