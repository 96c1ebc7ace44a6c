/* Writes what mtlm-dag would learn from, for another program to learn from
 * the same:
 *
 *   perf/samples FILE ITERATIONS OPTION...   (mtlm-dag's options)
 *
 * FILE is safetensors, each field [samples, values], of as many samples as
 * these iterations take. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/job/job_data.h"
#include "launch/options/options_parse.h"
#include "models/weights/safetensors.h"
#include "runtime/base/standard_output.h"

static const char *const names[MTLM_FIELD_PRETRAINING] = {
    [MTLM_FIELD_TOKENS] = "tokens",       [MTLM_FIELD_LABELS] = "labels",
    [MTLM_FIELD_LOSS_MASK] = "loss_mask", [MTLM_FIELD_TYPES] = "types",
    [MTLM_FIELD_LENGTH] = "length",       [MTLM_FIELD_ORDER] = "order",
};

static int fail(const struct mtlm_error *err)
{
    fprintf(stderr, "samples: %s\n", err->text);
    return err->code;
}

static int32_t *add_field(struct mtlm_safetensors_writer *writer,
                          struct mtlm_samples *from, enum mtlm_field field,
                          int64_t samples)
{
    const int64_t size = mtlm_field_size(field, from->seq_length);
    const int64_t dim[] = {samples, size};
    int32_t *values = mtlm_calloc(samples * size, sizeof(*values));

    for (int64_t i = 0; i < samples; i++)
        mtlm_samples_read(from, i, field, 0, size, values + i * size);
    mtlm_safetensors_writer_add(writer, names[field], MTLM_SAFETENSORS_I32, 2,
                                dim, values);
    return values;
}

static int write_file(const char *path, struct mtlm_samples *from,
                      int64_t samples, struct mtlm_error *err)
{
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(path);
    int32_t *values[MTLM_FIELD_PRETRAINING];
    int rc;

    for (int i = 0; i < MTLM_FIELD_PRETRAINING; i++)
        values[i] = add_field(writer, from, i, samples);
    rc = mtlm_safetensors_writer_commit(writer, err);
    mtlm_safetensors_writer_destroy(writer);
    for (int i = 0; i < MTLM_FIELD_PRETRAINING; i++)
        free(values[i]);
    return rc;
}

int main(int argc, char **argv)
{
    static struct mtlm_job job;
    struct mtlm_error err;
    const char *path;
    int64_t iterations;

    mtlm_standard_output_start();
    if (argc < 3 || atoll(argv[2]) < 1) {
        fprintf(stderr, "usage: perf/samples FILE ITERATIONS OPTION...\n");
        return MTLM_EXIT_USAGE;
    }
    path = argv[1];
    iterations = atoll(argv[2]);
    memmove(argv + 1, argv + 3, (argc - 2) * sizeof(*argv));
    if (mtlm_options_parse(&job.options, argc - 2, argv, &err)
            != MTLM_REQUEST_NONE
        || mtlm_job_data_open(&job, &err) < 0
        || write_file(path, job.train.samples,
                      iterations * job.options.global_batch_size, &err)
               < 0)
        return fail(&err);
    mtlm_samples_destroy(job.train.samples);
    mtlm_samples_destroy(job.valid.samples);
    mtlm_options_free(&job.options);
    return 0;
}
