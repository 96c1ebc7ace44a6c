/* Loads this rank's tensors of a checkpoint from the files that hold them. */

#include "config.h"

#include <stdlib.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/checkpoint/job_checkpoint.h"
#include "runtime/base/memory.h"
#include "runtime/base/value16.h"

/* Buffers for one tensor at a time. */
struct room {
    float *values;
    uint16_t *narrow; /* elements of a 16-bit tensor */
    size_t bytes, narrow_bytes;
};

static struct room make_room(const struct mtlm_checkpoint_tensors *list)
{
    int64_t most = 0, most_narrow = 0;

    for (int i = 0; i < list->n; i++) {
        const int64_t n = list->tensor[i].slice.count;

        most = n > most ? n : most;
        if (list->tensor[i].tensor->dtype != MTLM_REAL)
            most_narrow = n > most_narrow ? n : most_narrow;
    }
    return (struct room){.values = mtlm_pages_get(most * sizeof(float)),
                         .narrow =
                             mtlm_pages_get(most_narrow * sizeof(uint16_t)),
                         .bytes = most * sizeof(float),
                         .narrow_bytes = most_narrow * sizeof(uint16_t)};
}

/* Loads a tensor.  The job may have more padding rows of the vocabulary than
 * the checkpoint; these rows keep their initial values. */
static void load_tensor(struct mtlm_job *job, struct mtlm_safetensors **file,
                        const struct mtlm_checkpoint_tensor *t,
                        const struct room *room)
{
    const int64_t n = t->slice.count;
    const enum mtlm_dtype dtype = t->tensor->dtype;
    const bool narrow = dtype != MTLM_REAL;
    void *const there = narrow ? (void *) room->narrow : room->values;
    struct mtlm_error err;

    if (mtlm_job_checkpoint_leaves(job, t)
        || (mtlm_job_checkpoint_may_lack(job, t)
            && mtlm_manifest_count(&job->loaded, t->name, &t->slice, t->rows)
                   == 0))
        return;
    mtlm_run_read(job->run, t->tensor, there);
    if (narrow)
        mtlm_value16_widen(dtype, room->narrow, n, room->values);
    if (mtlm_manifest_collect(&job->loaded, job->load_path, file, t->name,
                              &t->slice, room->values, &err)
        < 0)
        mtlm_end_job(MTLM_EXIT_INPUT, "%s: while it was read: %s",
                     job->load_path, err.text);
    if (narrow)
        mtlm_value16_round(dtype, room->values, n, room->narrow);
    mtlm_run_write(job->run, t->tensor, there);
}

static void load_counters(struct mtlm_job *job)
{
    const struct mtlm_tensor *tensor = job->program->control;
    double control[MTLM_CONTROL_COUNT];

    mtlm_run_read(job->run, tensor, control);
    control[MTLM_CONTROL_ITERATION] = (double) job->begin.iteration;
    control[MTLM_CONTROL_SAMPLES] = (double) job->begin.samples;
    if (mtlm_job_checkpoint_loads_moments(job))
        mtlm_checkpoint_restore(job, job->loaded.state, control);
    job->skipped_before = control[MTLM_CONTROL_SKIPPED];
    mtlm_run_write(job->run, tensor, control);
}

void mtlm_checkpoint_load(struct mtlm_job *job)
{
    struct mtlm_checkpoint_tensors list;
    struct mtlm_safetensors **file;
    struct room room;

    if (!job->load_path)
        return;
    file = mtlm_calloc(job->loaded.files + 1, sizeof(*file));
    mtlm_checkpoint_to_load(job->program,
                            mtlm_job_checkpoint_loads_moments(job), &list);
    room = make_room(&list);
    for (int i = 0; i < list.n; i++)
        load_tensor(job, file, &list.tensor[i], &room);
    mtlm_pages_free(room.values, room.bytes);
    mtlm_pages_free(room.narrow, room.narrow_bytes);
    load_counters(job);
    for (int64_t f = 0; f < job->loaded.files; f++)
        mtlm_safetensors_close(file[f]);
    mtlm_checkpoint_tensors_free(&list);
    free(file);
    mtlm_job_checkpoint_forget(job);
}
