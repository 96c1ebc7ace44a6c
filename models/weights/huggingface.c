/* Opens directories of Hugging Face's transformers. */

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/weights/huggingface.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

static bool exists(const char *dir, const char *name)
{
    char *path = mtlm_sprintf("%s/%s", dir, name);
    const bool is = access(path, F_OK) == 0;

    free(path);
    return is;
}

/* Opens one more file. */
static struct mtlm_safetensors *open_file(struct mtlm_foreign *f,
                                          const char *name,
                                          struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/%s", f->path, name);
    struct mtlm_safetensors *file = mtlm_safetensors_open(path, err);

    free(path);
    if (!file)
        return NULL;
    f->file = mtlm_realloc(f->file, f->files + 1, sizeof(*f->file));
    f->file[f->files++] = file;
    return file;
}

/* ---- several files ---- */

struct shard {
    const char *name;
    struct mtlm_safetensors *file;
};

/* Returns the file of a name; opens it the first time. */
static struct mtlm_safetensors *shard_of(struct mtlm_foreign *f,
                                         struct shard **shard, int *n,
                                         const char *name,
                                         struct mtlm_error *err)
{
    struct mtlm_safetensors *file;

    for (int i = 0; i < *n; i++)
        if (strcmp((*shard)[i].name, name) == 0)
            return (*shard)[i].file;
    file = open_file(f, name, err);
    if (!file)
        return NULL;
    *shard = mtlm_realloc(*shard, *n + 1, sizeof(**shard));
    (*shard)[(*n)++] = (struct shard){name, file};
    return file;
}

/* Checks that each tensor of the index is in its file. */
static int open_listed(struct mtlm_foreign *f, const char *index,
                       const json_t *map, struct mtlm_error *err)
{
    struct shard *shard = NULL;
    const char *tensor;
    json_t *value;
    int n = 0, rc = 0;

    json_object_foreach((json_t *) map, tensor, value)
    {
        const char *name = json_string_value(value);
        struct mtlm_safetensors *file;

        if (!name || !*name || *name == '.' || strchr(name, '/')) {
            rc =
                mtlm_error_set(err, MTLM_EXIT_INPUT,
                               "%s: tensor \"%s\": expected the name of a file "
                               "beside it, found %s",
                               index, tensor, name ? name : "another type");
            break;
        }
        file = shard_of(f, &shard, &n, name, err);
        rc =
            !file ? -1
            : mtlm_safetensors_find(file, tensor)
                ? 0
                : mtlm_error_set(err, MTLM_EXIT_INPUT,
                                 "%s: expected tensor \"%s\" in %s, found none",
                                 index, tensor, name);
        if (rc < 0)
            break;
    }
    free(shard);
    return rc;
}

static int open_shards(struct mtlm_foreign *f, const char *name,
                       struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/%s", f->path, name);
    json_t *index = mtlm_json_file_read(path, err);
    const json_t *map = json_object_get(index, "weight_map");
    int rc = -1;

    if (json_is_object(map))
        rc = open_listed(f, path, map, err);
    else if (index)
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "%s: expected an object \"weight_map\", found none",
                       path);
    json_decref(index);
    free(path);
    return rc;
}

/* ---- all tensors ---- */

static int open_files(struct mtlm_foreign *f, struct mtlm_error *err)
{
    const char *const one = "model.safetensors";
    const char *const several = "model.safetensors.index.json";

    if (exists(f->path, one))
        return open_file(f, one, err) ? 0 : -1;
    if (exists(f->path, several))
        return open_shards(f, several, err);
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT, "%s: expected %s or %s, found neither%s", f->path,
        one, several,
        exists(f->path, "pytorch_model.bin")
            ? ": pytorch_model.bin is a pickle, which is a program and is not "
              "run; transformers save as safetensors"
            : "");
}

static void collect(struct mtlm_foreign *f)
{
    int64_t n = 0;

    for (int i = 0; i < f->files; i++)
        n += mtlm_safetensors_count(f->file[i]);
    f->tensor = mtlm_calloc(n + 1, sizeof(*f->tensor));
    for (int i = 0; i < f->files; i++)
        for (int64_t t = 0; t < mtlm_safetensors_count(f->file[i]); t++)
            f->tensor[f->tensors++] = *mtlm_safetensors_at(f->file[i], t);
}

int mtlm_huggingface_open(struct mtlm_foreign *foreign, struct mtlm_error *err)
{
    char *config;
    int rc;

    if (!exists(foreign->path, "config.json"))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: expected Hugging Face's config.json or "
                              "checkpoints of mtlm-dag in it, found neither",
                              foreign->path);
    config = mtlm_sprintf("%s/config.json", foreign->path);
    rc = mtlm_huggingface_read_config(config, &foreign->model, &foreign->ends,
                                      err);
    free(config);
    if (rc == 0)
        rc = open_files(foreign, err);
    if (rc == 0)
        collect(foreign);
    return rc;
}
