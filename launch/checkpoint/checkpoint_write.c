/* Writes a rank's file of a checkpoint, and the manifest that commits all
 * files. */

#include "config.h"

#include <stdlib.h>

#include "launch/checkpoint/checkpoint.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/memory.h"
#include "runtime/base/value16.h"

/* A tensor and its values, in its own type. */
struct values {
    const struct mtlm_run *run;
    const struct mtlm_tensor *tensor;
    const void *data; /* NULL: on the disk of --offload */
};

static int read_values(void *arg, void *memory, struct mtlm_error *err)
{
    const struct values *v = arg;

    (void) err;
    mtlm_run_saved_read(v->run, v->tensor, memory);
    return 0;
}

static int widen_values(void *arg, void *memory, struct mtlm_error *err)
{
    const struct values *v = arg;

    (void) err;
    mtlm_value16_widen(v->tensor->dtype, v->data, mtlm_tensor_elems(v->tensor),
                       memory);
    return 0;
}

/* A whole shard keeps its shape; a piece of a shard is a vector.  16-bit values
 * become floats; v lives until commit. */
static void add_tensor(struct mtlm_safetensors_writer *writer,
                       const struct mtlm_checkpoint_tensor *t, struct values *v)
{
    const struct mtlm_slice *s = &t->slice;
    const bool whole = s->count == s->dim[0] * s->dim[1] && s->full[1] > 1;
    const int64_t *dim = whole ? s->dim : &s->count;

    if (!v->data)
        mtlm_safetensors_writer_add_later(writer, t->name, MTLM_SAFETENSORS_F32,
                                          whole ? 2 : 1, dim, read_values, v);
    else if (t->tensor->dtype == MTLM_REAL)
        mtlm_safetensors_writer_add(writer, t->name, MTLM_SAFETENSORS_F32,
                                    whole ? 2 : 1, dim, v->data);
    else
        mtlm_safetensors_writer_add_later(writer, t->name, MTLM_SAFETENSORS_F32,
                                          whole ? 2 : 1, dim, widen_values, v);
}

static void describe_file(const struct mtlm_safetensors_writer *writer,
                          const struct mtlm_checkpoint_tensors *list,
                          struct mtlm_manifest_file *file)
{
    const struct mtlm_safetensors_written written =
        mtlm_safetensors_writer_written(writer);

    file->bytes = written.bytes;
    file->hash = written.hash;
    file->tensors = list->n;
    file->tensor = mtlm_calloc(list->n + 1, sizeof(*file->tensor));
    for (int i = 0; i < list->n; i++)
        file->tensor[i] = (struct mtlm_manifest_tensor){
            .name = mtlm_strdup(list->tensor[i].name),
            .slice = list->tensor[i].slice,
            .hash = mtlm_safetensors_writer_hash(writer, i)};
}

int mtlm_checkpoint_write(const struct mtlm_job *job, int64_t iteration,
                          const struct mtlm_checkpoint_tensors *list,
                          struct mtlm_manifest_file *file,
                          struct mtlm_error *err)
{
    char *dir = mtlm_checkpoint_dir_temporary(job->options.save_dir, iteration);
    struct values *values = mtlm_calloc(list->n + 1, sizeof(*values));
    struct mtlm_safetensors_writer *writer;
    char *path;
    int rc;

    file->name =
        mtlm_sprintf("rank-%05d.safetensors", mtlm_ranks_rank(job->ranks));
    path = mtlm_sprintf("%s/%s", dir, file->name);
    writer = mtlm_safetensors_writer_create(path);
    for (int i = 0; i < list->n; i++) {
        const struct mtlm_tensor *t = list->tensor[i].tensor;

        values[i] = (struct values){job->run, t, mtlm_run_saved(job->run, t)};
        add_tensor(writer, &list->tensor[i], &values[i]);
    }
    rc = mtlm_safetensors_writer_commit(writer, err);
    if (rc == 0)
        describe_file(writer, list, file);
    mtlm_safetensors_writer_destroy(writer);
    free(values);
    free(path);
    free(dir);
    return rc;
}

int mtlm_checkpoint_complete(struct mtlm_job *job,
                             const struct mtlm_manifest *manifest,
                             struct mtlm_error *err)
{
    const char *save_dir = job->options.save_dir;
    char *dir = mtlm_checkpoint_dir_temporary(save_dir, manifest->iteration);
    int rc = mtlm_manifest_write(manifest, dir, err);

    if (rc == 0)
        rc = mtlm_checkpoint_dir_commit(save_dir, manifest->iteration, err);
    if (rc == 0 && job->saves_there)
        mtlm_checkpoint_list_forget(&job->damaged, manifest->iteration);
    free(dir);
    return rc;
}

void mtlm_checkpoint_remove_old(const struct mtlm_job *job, int64_t iteration)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_checkpoint_list none = {0};

    /* job->damaged lists checkpoints of --load: valid here only if --save is
     * the same directory. */
    if (o->keep_last > 0)
        mtlm_checkpoint_dir_prune(o->save_dir, iteration, o->keep_last,
                                  job->best.iteration,
                                  job->begin_is_saved ? &job->damaged : &none);
}
