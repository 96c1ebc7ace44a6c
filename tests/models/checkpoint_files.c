#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "tests/models/checkpoint_files.h"
#include "tests/models/files.h"

static const float weight[] = {1, 2, 3, 4, 5, 6}, bias[] = {7, 8};
static int bias_reads;

_Static_assert(sizeof(weight) == CHECKPOINT_WEIGHT_BYTES, "");
_Static_assert(sizeof(bias) == CHECKPOINT_BIAS_BYTES, "");

static int read_bias(void *arg, void *memory, struct mtlm_error *err)
{
    (void) err;
    bias_reads++;
    memcpy(memory, arg, sizeof(bias));
    return 0;
}

int checkpoint_bias_reads(void)
{
    return bias_reads;
}

struct mtlm_manifest_tensor checkpoint_tensor(const char *name, int64_t rows,
                                              int64_t cols, uint64_t hash)
{
    return (struct mtlm_manifest_tensor){
        (char *) name,
        {{rows, cols}, {0, 0}, {rows, cols}, 0, rows * cols},
        hash};
}

int checkpoint_write(const char *dir, int64_t iteration, struct mtlm_error *err)
{
    char path[256];
    struct mtlm_manifest_tensor t[2];
    struct mtlm_manifest_file file = {
        .name = CHECKPOINT_FILE, .tensor = t, .tensors = 2};
    struct mtlm_manifest manifest = {.iteration = iteration,
                                     .samples = 160,
                                     .settings = json_pack("{s:s}", "a", "1"),
                                     .state = json_pack("{s:f}", "step", .1),
                                     .file = &file,
                                     .files = 1};
    struct mtlm_safetensors_writer *writer;
    struct mtlm_safetensors_written written;
    int rc;

    snprintf(path, sizeof(path), "%s/" CHECKPOINT_FILE, dir);
    writer = mtlm_safetensors_writer_create(path);
    mtlm_safetensors_writer_add(writer, "a.weight", MTLM_SAFETENSORS_F32, 2,
                                (const int64_t[]){2, 3}, weight);
    mtlm_safetensors_writer_add_later(writer, "a.bias", MTLM_SAFETENSORS_F32, 1,
                                      (const int64_t[]){2}, read_bias,
                                      (void *) bias);
    rc = mtlm_safetensors_writer_commit(writer, err);
    if (rc == 0) {
        written = mtlm_safetensors_writer_written(writer);
        t[0] = checkpoint_tensor("a.weight", 2, 3,
                                 mtlm_safetensors_writer_hash(writer, 0));
        t[1] = checkpoint_tensor("a.bias", 2, 1,
                                 mtlm_safetensors_writer_hash(writer, 1));
        file.bytes = written.bytes;
        file.hash = written.hash;
        rc = mtlm_manifest_write(&manifest, dir, err);
    }
    mtlm_safetensors_writer_destroy(writer);
    json_decref(manifest.settings);
    json_decref(manifest.state);
    return rc;
}

int checkpoint_check(const char *dir, struct mtlm_error *err)
{
    struct mtlm_manifest manifest;
    int rc = mtlm_manifest_read(&manifest, dir, err);

    for (int64_t i = 0; i < manifest.files && rc == 0; i++)
        rc = mtlm_manifest_verify(&manifest.file[i], dir, err);
    mtlm_manifest_free(&manifest);
    return rc;
}

void checkpoint_write_newer(const char *checkpoint, const char *name)
{
    char path[64], hash[17], *text, *at;
    size_t bytes;

    snprintf(path, sizeof(path), "%s/manifest.json", checkpoint);
    text = (char *) files_read(path, &bytes);
    at = strstr(text, "\"version\": 1,");
    assert_non_null(at);
    at[11] = '7';
    memset(text + bytes - 20, '0', 16);
    snprintf(hash, sizeof(hash), "%016llx",
             (unsigned long long) XXH3_64bits(text, bytes));
    memcpy(text + bytes - 20, hash, 16);
    files_write(name, text, bytes);
    free(text);
}
