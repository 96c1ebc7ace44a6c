/* What this rank needs of a checkpoint, from whatever files have it. */

#include "config.h"

#include <stdlib.h>

#include "launch/checkpoint.h"
#include "runtime/memory.h"
#include "runtime/value16.h"

/* Rows that pad the vocabulary may be more than the checkpoint has: those keep
 * their first values. */
static void load_tensor(struct mtlm_job *job, struct mtlm_safetensors **file,
                        const struct mtlm_checkpoint_tensor *t)
{
    const int64_t n = t->slice.count;
    const enum mtlm_dtype dtype = t->tensor->dtype;
    float *values = mtlm_calloc(n, sizeof(*values));
    uint16_t *narrow = NULL;
    struct mtlm_error err;

    if (dtype == MTLM_REAL) {
        mtlm_run_read(job->run, t->tensor, values);
    } else {
        narrow = mtlm_calloc(n, sizeof(*narrow));
        mtlm_run_read(job->run, t->tensor, narrow);
        mtlm_value16_widen(dtype, narrow, n, values);
    }
    if (mtlm_manifest_collect(&job->loaded, job->load_path, file, t->name,
                              &t->slice, values, &err)
        < 0)
        mtlm_end_job(MTLM_EXIT_INPUT, "%s: while it was read: %s",
                     job->load_path, err.text);
    if (narrow)
        mtlm_value16_round(dtype, values, n, narrow);
    mtlm_run_write(job->run, t->tensor, narrow ? (void *) narrow : values);
    free(narrow);
    free(values);
}

static void load_counters(struct mtlm_job *job)
{
    const struct mtlm_tensor *tensor = job->program->control;
    double control[MTLM_CONTROL_COUNT];

    mtlm_run_read(job->run, tensor, control);
    control[MTLM_CONTROL_ITERATION] = (double) job->begin.iteration;
    control[MTLM_CONTROL_SAMPLES] = (double) job->begin.samples;
    if (mtlm_job_loads_moments(job))
        mtlm_checkpoint_restore(job, job->loaded.state, control);
    job->skipped_before = control[MTLM_CONTROL_SKIPPED];
    mtlm_run_write(job->run, tensor, control);
}

void mtlm_checkpoint_load(struct mtlm_job *job)
{
    struct mtlm_checkpoint_tensors list;
    struct mtlm_safetensors **file;

    if (!job->load_path)
        return;
    file = mtlm_calloc(job->loaded.files + 1, sizeof(*file));
    mtlm_checkpoint_to_load(job, mtlm_job_loads_moments(job), &list);
    for (int i = 0; i < list.n; i++)
        load_tensor(job, file, &list.tensor[i]);
    load_counters(job);
    for (int64_t f = 0; f < job->loaded.files; f++)
        mtlm_safetensors_close(file[f]);
    mtlm_checkpoint_tensors_free(&list);
    free(file);
    mtlm_job_forget_checkpoint(job);
}
