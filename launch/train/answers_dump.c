/* --dump-logits of a fine-tuned model, rank-R.safetensors.  The rank has n
 * items: pairs, questions with c choices, or windows; c is 1 but for choices.
 *   "sample" [n c]                    numbers of the samples
 *   "tokens", "types", "length"       of these samples, as in dump.c
 *   "task_logits" [n, classes or c]   floats
 *   "start_logits", "end_logits" [n, s]   instead, of windows */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/train/answers_dump.h"
#include "launch/train/dump.h"
#include "models/weights/safetensors.h"
#include "runtime/base/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct mtlm_answers_dump {
    struct mtlm_job *job;
    int64_t *sample;     /* [items choices], room for room items */
    mtlm_real *logit[2]; /* [items, columns] each; of ends, or NULL */
    int64_t items, room, columns;
};

struct mtlm_answers_dump *mtlm_answers_dump_create(struct mtlm_job *job)
{
    struct mtlm_answers_dump *dump;

    if (!job->options.logits_dir)
        return NULL;
    dump = mtlm_calloc(1, sizeof(*dump));
    dump->job = job;
    return dump;
}

static int64_t choices_of(const struct mtlm_answers_dump *dump)
{
    return mtlm_model_choices(&dump->job->options.model);
}

static void make_room(struct mtlm_answers_dump *dump, int ends)
{
    if (dump->items < dump->room)
        return;
    dump->room = 2 * dump->room + 64;
    dump->sample = mtlm_realloc(dump->sample, dump->room * choices_of(dump),
                                sizeof(*dump->sample));
    for (int k = 0; k < ends; k++)
        dump->logit[k] =
            mtlm_realloc(dump->logit[k], dump->room * dump->columns,
                         sizeof(*dump->logit[k]));
}

void mtlm_answers_dump_add(struct mtlm_answers_dump *dump, int64_t sample,
                           const mtlm_real *logit, int64_t n,
                           const mtlm_real *end)
{
    const mtlm_real *const from[2] = {logit, end};
    const int ends = end ? 2 : 1;

    if (!dump)
        return;
    dump->columns = n;
    make_room(dump, ends);
    for (int64_t c = 0; c < choices_of(dump); c++)
        dump->sample[dump->items * choices_of(dump) + c] = sample + c;
    for (int k = 0; k < ends; k++)
        memcpy(dump->logit[k] + dump->items * n, from[k], n * sizeof(*logit));
    dump->items++;
}

static void add_logits(const struct mtlm_answers_dump *dump,
                       struct mtlm_safetensors_writer *writer)
{
    static const char *const spans[] = {"start_logits", "end_logits"};

    for (int k = 0; k < 2 && dump->logit[k]; k++)
        mtlm_safetensors_writer_add(
            writer, dump->logit[1] ? spans[k] : "task_logits",
            MTLM_SAFETENSORS_F32, 2,
            (const int64_t[]){dump->items, dump->columns}, dump->logit[k]);
}

int mtlm_answers_dump_write(const struct mtlm_answers_dump *dump,
                            struct mtlm_error *err)
{
    static const enum mtlm_field fields[] = {
        MTLM_FIELD_TOKENS, MTLM_FIELD_TYPES, MTLM_FIELD_LENGTH};
    int32_t *field[LENGTH(fields)];
    struct mtlm_safetensors_writer *writer;
    int64_t samples;
    char *path;
    int rc;

    if (!dump)
        return 0;
    path = mtlm_sprintf("%s/rank-%d.safetensors", dump->job->options.logits_dir,
                        mtlm_ranks_rank(dump->job->ranks));
    writer = mtlm_safetensors_writer_create(path);
    samples = dump->items * choices_of(dump);
    mtlm_safetensors_writer_add(writer, "sample", MTLM_SAFETENSORS_I64, 1,
                                &samples, dump->sample);
    for (size_t f = 0; f < LENGTH(fields); f++)
        field[f] = mtlm_dump_field(dump->job->valid.samples, fields[f],
                                   dump->sample, samples, writer);
    add_logits(dump, writer);
    rc = mtlm_safetensors_writer_commit(writer, err);
    mtlm_safetensors_writer_destroy(writer);
    for (size_t f = 0; f < LENGTH(fields); f++)
        free(field[f]);
    free(path);
    return rc;
}

void mtlm_answers_dump_destroy(struct mtlm_answers_dump *dump)
{
    if (!dump)
        return;
    free(dump->sample);
    free(dump->logit[0]);
    free(dump->logit[1]);
    free(dump);
}
