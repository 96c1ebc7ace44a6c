/* Checkpoints of any bytes. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "models/weights/manifest.h"
#include "runtime/base/memory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

void fuzz_safetensors(const uint8_t *data, size_t bytes)
{
    struct mtlm_error err = {0};
    struct mtlm_safetensors *file;

    memory_file_put(0, "fuzz", data, bytes);
    file = mtlm_safetensors_open("fuzz", &err);
    if (!file) {
        fuzz_refused(&err);
        return;
    }
    for (int64_t i = 0; i < mtlm_safetensors_count(file); i++) {
        const struct mtlm_safetensors_tensor *t = mtlm_safetensors_at(file, i);

        fuzz_look(t->data, t->bytes);
        if (mtlm_safetensors_find(file, t->name) != t)
            abort();
    }
    mtlm_safetensors_close(file);
}

/* The text, its checksum behind it: without that nothing gets far. */
static char *seal(const uint8_t *data, size_t bytes, size_t *all)
{
    static const char end[] = ",\n \"xxh3\": \"0000000000000000\"\n}\n";
    char *text = mtlm_calloc(bytes + sizeof(end), 1), hash[17];

    if (bytes > 0)
        memcpy(text, data, bytes);
    memcpy(text + bytes, end, sizeof(end));
    *all = bytes + sizeof(end) - 1;
    snprintf(hash, sizeof(hash), "%016" PRIx64, XXH3_64bits(text, *all));
    memcpy(text + *all - 20, hash, 16);
    return text;
}

/* A part of a manifest as one rank sends it to another. */
static void manifest_part(const uint8_t *data, size_t bytes)
{
    char *text = mtlm_calloc(bytes + 1, 1);
    struct mtlm_manifest_file file;

    memcpy(text, data, bytes);
    if (mtlm_manifest_file_parse(text, &file) == 0)
        free(mtlm_manifest_file_text(&file));
    mtlm_manifest_file_free(&file);
    free(text);
}

/* What the manifest lists may be there: a file with a tensor "wte" of 16
 * numbers, to which size and checksum are made to fit. */
static const char header[] =
    "{\"wte\":{\"dtype\":\"F32\",\"shape\":[16],\"data_offsets\":[0,64]}}";
enum { VALUES = 16, FILE_BYTES = 8 + sizeof(header) - 1 + 4 * VALUES };

static void look_at_files(struct mtlm_manifest *m, const uint8_t *file)
{
    struct mtlm_safetensors **open =
        mtlm_calloc((size_t) m->files + 1, sizeof(struct mtlm_safetensors *));
    struct mtlm_error err = {0};
    float values[VALUES];
    int rc = 0;

    for (int64_t i = 0; i < m->files; i++) {
        fuzz_look_at_text(m->file[i].name);
        free(mtlm_manifest_file_text(&m->file[i]));
        m->file[i].bytes = FILE_BYTES;
        m->file[i].hash = XXH3_64bits(file, FILE_BYTES);
        if (mtlm_manifest_verify(&m->file[i], "fuzz", &err) < 0) {
            fuzz_refused(&err);
            rc = -1;
        }
    }
    for (int64_t i = 0; i < m->files && rc == 0; i++)
        for (int64_t t = 0; t < m->file[i].tensors; t++) {
            const struct mtlm_manifest_tensor *tensor = &m->file[i].tensor[t];

            mtlm_manifest_count(m, tensor->name, &tensor->slice, INT64_MAX);
            if (mtlm_manifest_collect(m, "fuzz", open, tensor->name,
                                      &tensor->slice, values, &err)
                < 0)
                fuzz_refused(&err);
        }
    for (int64_t i = 0; i < m->files; i++)
        mtlm_safetensors_close(open[i]);
    free(open);
}

/* The first byte says whether it is a part ('p'), has to have a checksum of its
 * own ('r'), or gets one. */
void fuzz_manifest(const uint8_t *data, size_t bytes)
{
    static uint8_t file[FILE_BYTES] = {sizeof(header) - 1};
    struct mtlm_manifest m;
    struct mtlm_error err = {0};
    size_t all;
    char *text;

    if (bytes == 0)
        return;
    if (data[0] == 'p') {
        manifest_part(data + 1, bytes - 1);
        return;
    }
    memcpy(file + 8, header, sizeof(header) - 1);
    memory_file_put(1, ".safetensors", file, FILE_BYTES);
    text = seal(data + 1, bytes - 1, &all);
    if (data[0] == 'r')
        memory_file_put(0, "/manifest.json", data + 1, bytes - 1);
    else
        memory_file_put(0, "/manifest.json", text, all);
    if (mtlm_manifest_read(&m, "fuzz", &err) < 0) {
        fuzz_refused(&err);
    } else {
        if (mtlm_manifest_look("fuzz", m.iteration, &err) < 0)
            fuzz_refused(&err);
        look_at_files(&m, file);
    }
    mtlm_manifest_free(&m);
    free(text);
}
