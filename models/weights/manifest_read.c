/* Collects a slice of a tensor from all files of a checkpoint. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/weights/manifest.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"

int64_t mtlm_manifest_count(const struct mtlm_manifest *manifest,
                            const char *name, const struct mtlm_slice *slice,
                            int64_t rows)
{
    const struct mtlm_manifest *m = manifest;
    int64_t found = 0;

    for (int64_t f = 0; f < m->files; f++)
        for (int64_t i = 0; i < m->file[f].tensors; i++)
            if (strcmp(m->file[f].tensor[i].name, name) == 0)
                found += mtlm_slice_copy(&m->file[f].tensor[i].slice, NULL,
                                         slice, rows, NULL);
    return found;
}

static int copy(const struct mtlm_manifest_file *from, const char *dir,
                struct mtlm_safetensors **file,
                const struct mtlm_manifest_tensor *t,
                const struct mtlm_slice *slice, float *values,
                struct mtlm_error *err)
{
    const struct mtlm_safetensors_tensor *data;
    char *path = mtlm_sprintf("%s/%s", dir, from->name);
    int rc = 0;

    if (!*file)
        *file = mtlm_safetensors_open(path, err);
    data = *file ? mtlm_safetensors_find(*file, t->name) : NULL;
    if (!*file)
        rc = -1;
    else if (!data || data->bytes != t->slice.count * sizeof(float))
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: it has changed", path);
    else
        mtlm_slice_copy(&t->slice, data->data, slice, INT64_MAX, values);
    if (rc == 0)
        mtlm_mapped_file_forget(data->data, data->bytes);
    free(path);
    return rc;
}

int mtlm_manifest_collect(const struct mtlm_manifest *manifest, const char *dir,
                          struct mtlm_safetensors **file, const char *name,
                          const struct mtlm_slice *slice, float *values,
                          struct mtlm_error *err)
{
    const struct mtlm_manifest *m = manifest;

    for (int64_t f = 0; f < m->files; f++)
        for (int64_t i = 0; i < m->file[f].tensors; i++)
            if (strcmp(m->file[f].tensor[i].name, name) == 0
                && copy(&m->file[f], dir, &file[f], &m->file[f].tensor[i],
                        slice, values, err)
                       < 0)
                return -1;
    return 0;
}
