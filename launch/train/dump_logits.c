/* --dump-logits: one file per rank of the last stage, rank-R.safetensors.
 *   "sample" [n]                numbers of the rank's validation samples
 *   fields of these samples, as in dump.c
 *   "logits" [n, s, columns]    floats, of the rank's unpadded vocabulary;
 *                               metadata "logits.first": its first token
 *   "order_logits" [n, 2]       floats of a binary head, on tensor-parallel
 *                               rank 0 */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/train/dump.h"
#include "launch/train/dump_logits.h"
#include "launch/train/microbatch_values.h"
#include "models/weights/safetensors.h"

struct mtlm_logits {
    struct mtlm_job *job;
    int64_t samples, first_column, columns;
    mtlm_real *lm;      /* [samples, s, columns] */
    mtlm_real *answers; /* [samples, 2], or NULL */
    int32_t *field[MTLM_FIELD_PRETRAINING];
    int64_t *sample;
};

/* Copies from [rows, b, cols] to rows first .. first + rows - 1 of the array
 * [b, all_rows, columns]. */
static void place_rows(const mtlm_real *from, const struct mtlm_shape *shape,
                       mtlm_real *to, int64_t first, int64_t all_rows,
                       int64_t columns)
{
    const int64_t b = shape->dim[1], cols = shape->dim[2];

    for (int64_t r = 0; r < shape->dim[0]; r++)
        for (int64_t i = 0; i < b; i++)
            memcpy(to + (i * all_rows + first + r) * columns,
                   from + (r * b + i) * cols, columns * sizeof(*to));
}

static void copy_logits(void *arg, int64_t microbatch)
{
    struct mtlm_logits *l = arg;
    const struct mtlm_program *program = l->job->program;
    const int64_t s = program->config.model.seq_length;
    const int64_t sample = microbatch * program->config.micro_batch;
    int64_t first = 0;

    for (int i = 0; first < s; i++) {
        const struct mtlm_tensor *t = program->eval_logits.part[i];
        mtlm_real *values = mtlm_microbatch_values(l->job->run, t, microbatch);

        place_rows(values, &t->shape, l->lm + sample * s * l->columns, first, s,
                   l->columns);
        first += t->shape.dim[0];
        free(values);
    }
    if (l->answers) {
        const struct mtlm_tensor *t = program->eval_answers[0];
        mtlm_real *values = mtlm_microbatch_values(l->job->run, t, microbatch);

        place_rows(values, &t->shape, l->answers + 2 * sample, 0, 1, 2);
        free(values);
    }
}

struct mtlm_logits *mtlm_logits_begin(struct mtlm_job *job)
{
    const struct mtlm_program *program = job->program;
    const struct mtlm_model *model = &program->config.model;
    const struct mtlm_parameter *word =
        mtlm_program_param(program, MTLM_PARAM_WORD, -1, true);
    struct mtlm_logits *l;
    int64_t left;

    if (!job->options.logits_dir || !program->eval_logits.part[0])
        return NULL;
    l = mtlm_calloc(1, sizeof(*l));
    l->job = job;
    l->samples =
        program->config.eval_microbatches * program->config.micro_batch;
    l->first_column = word->first_row;
    left = model->vocab_size - word->first_row;
    l->columns = left < 0 ? 0
                 : left < word->weight->shape.dim[0]
                     ? left
                     : word->weight->shape.dim[0];
    l->lm = mtlm_calloc(l->samples * model->seq_length * l->columns + 1,
                        sizeof(*l->lm));
    if (program->eval_answers[0] && program->config.layout.tp_rank == 0)
        l->answers = mtlm_calloc(l->samples * 2, sizeof(*l->answers));
    mtlm_run_on_validated(job->run, copy_logits, l);
    return l;
}

/* ---- the file ---- */

/* Number of the i-th sample of this rank. */
static int64_t sample_number(const struct mtlm_logits *l, int64_t i)
{
    const struct mtlm_program_config *c = &l->job->program->config;
    const int64_t b = c->micro_batch;

    return (i / b * c->layout.dp + c->layout.dp_rank) * b + i % b;
}

static void add_samples(struct mtlm_logits *l,
                        struct mtlm_safetensors_writer *writer)
{
    l->sample = mtlm_calloc(l->samples, sizeof(*l->sample));
    for (int64_t i = 0; i < l->samples; i++)
        l->sample[i] = sample_number(l, i);
    mtlm_safetensors_writer_add(writer, "sample", MTLM_SAFETENSORS_I64, 1,
                                &l->samples, l->sample);
    for (int f = 0; f < MTLM_FIELD_PRETRAINING; f++)
        l->field[f] = mtlm_dump_field(l->job->valid.samples, f, l->sample,
                                      l->samples, writer);
}

static void destroy_logits(struct mtlm_logits *l)
{
    for (int f = 0; f < MTLM_FIELD_PRETRAINING; f++)
        free(l->field[f]);
    free(l->sample);
    free(l->answers);
    free(l->lm);
    free(l);
}

static int write_file(struct mtlm_logits *l, struct mtlm_error *err)
{
    const int64_t s = l->job->program->config.model.seq_length;
    char *path =
        mtlm_sprintf("%s/rank-%d.safetensors", l->job->options.logits_dir,
                     mtlm_ranks_rank(l->job->ranks));
    char *first = mtlm_sprintf("%" PRId64, l->first_column);
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(path);
    int rc;

    add_samples(l, writer);
    mtlm_safetensors_writer_metadata(writer, "logits.first", first);
    mtlm_safetensors_writer_add(writer, "logits", MTLM_SAFETENSORS_F32, 3,
                                (const int64_t[]){l->samples, s, l->columns},
                                l->lm);
    if (l->answers)
        mtlm_safetensors_writer_add(
            writer, "order_logits", MTLM_SAFETENSORS_F32, 2,
            (const int64_t[]){l->samples, 2}, l->answers);
    rc = mtlm_safetensors_writer_commit(writer, err);
    mtlm_safetensors_writer_destroy(writer);
    free(first);
    free(path);
    return rc;
}

int mtlm_logits_end(struct mtlm_logits *logits, bool whole,
                    struct mtlm_error *err)
{
    int rc = 0;

    if (!logits)
        return 0;
    mtlm_run_on_validated(logits->job->run, NULL, NULL);
    if (whole)
        rc = write_file(logits, err);
    destroy_logits(logits);
    return rc;
}
