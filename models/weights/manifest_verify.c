/* Whether a checkpoint's files are what its manifest says. */

#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "models/weights/hash.h"
#include "models/weights/manifest.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/file/mapped_file.h"

static int check_tensor(const struct mtlm_safetensors *data, const char *path,
                        const struct mtlm_manifest_tensor *tensor, bool bytes,
                        struct mtlm_error *err)
{
    const struct mtlm_safetensors_tensor *found =
        mtlm_safetensors_find(data, tensor->name);

    if (!found || found->dtype != MTLM_SAFETENSORS_F32
        || found->bytes != tensor->slice.count * sizeof(float))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: tensor \"%.100s\": expected %" PRId64
                              " F32 elements, found %s",
                              path, tensor->name, tensor->slice.count,
                              found ? "others" : "none");
    if (bytes && XXH3_64bits(found->data, found->bytes) != tensor->hash)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: tensor \"%.100s\": damaged, its %zu bytes "
                              "do not have the checksum of the manifest",
                              path, tensor->name, found->bytes);
    return 0;
}

/* Checks the tensors of a file; whole: the hash of the file matched.  Otherwise
 * finds the reason. */
static int check_file(const struct mtlm_manifest_file *file, const char *path,
                      bool whole, int64_t bytes, struct mtlm_error *err)
{
    struct mtlm_safetensors *data = mtlm_safetensors_open(path, err);
    int rc = data ? 0 : -1;

    for (int64_t i = 0; i < file->tensors && rc == 0; i++)
        rc = check_tensor(data, path, &file->tensor[i], !whole, err);
    mtlm_safetensors_close(data);
    if (rc < 0 || whole)
        return rc;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: damaged header, expected %" PRId64
                          " bytes with the checksum of the manifest, found "
                          "%" PRId64 " bytes",
                          path, file->bytes, bytes);
}

static void add_piece(void *state, const void *data, size_t bytes)
{
    XXH3_64bits_update(state, data, bytes);
}

int mtlm_manifest_verify(const struct mtlm_manifest_file *file, const char *dir,
                         struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/%s", dir, file->name);
    XXH3_state_t *state = mtlm_hash_begin();
    int64_t bytes;
    int rc = mtlm_mapped_file_each_piece(path, file->bytes, add_piece, state,
                                         &bytes, err);
    const bool same = mtlm_hash_end(state) == file->hash;

    if (rc == 0)
        rc = check_file(file, path, same && bytes == file->bytes, bytes, err);
    free(path);
    return rc;
}

static int look_at_file(const struct mtlm_manifest_file *file, const char *dir,
                        struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/%s", dir, file->name);
    struct stat st;
    int rc = 0;

    if (stat(path, &st) < 0)
        rc = mtlm_disk_cannot_read(path, err);
    else if (!S_ISREG(st.st_mode) || st.st_size != file->bytes)
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: expected a file of %" PRId64 " bytes", path,
                            file->bytes);
    free(path);
    return rc;
}

int mtlm_manifest_look(const char *dir, int64_t iteration,
                       struct mtlm_error *err)
{
    struct mtlm_manifest m;
    int rc = mtlm_manifest_read_of(&m, dir, iteration, err);

    for (int64_t i = 0; i < m.files && rc == 0; i++)
        rc = look_at_file(&m.file[i], dir, err);
    mtlm_manifest_free(&m);
    return rc;
}
