/* Readers of files against any bytes, for libFuzzer: MTLM_FUZZ names the
 * reader.  What a reader accepts is looked at whole, so that the sanitizers see
 * what it points to. */

#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "launch/config_file.h"
#include "launch/option.h"
#include "models/text/indexed_dataset.h"
#include "models/text/merges.h"
#include "models/text/wordpiece.h"
#include "models/weights/manifest.h"
#include "runtime/memory.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static volatile unsigned char seen;

static void look(const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < bytes; i++)
        seen ^= p[i];
}

static void look_at_text(const char *text)
{
    look(text, strlen(text) + 1);
}

/* A reader that refuses says why. */
static void refused(const struct mtlm_error *err)
{
    if (!err->text[0] || err->code == 0)
        abort();
}

/* The first byte says how long PREFIX.bin is; the rest is PREFIX.idx. */
static void idx(const uint8_t *data, size_t bytes)
{
    static const uint8_t tokens[256];
    struct mtlm_error err = {0};
    struct mtlm_indexed_dataset *d;

    if (bytes == 0)
        return;
    memory_file_put(0, ".idx", data + 1, bytes - 1);
    memory_file_put(1, ".bin", tokens, data[0]);
    d = mtlm_indexed_dataset_open("fuzz", 7, &err);
    if (!d) {
        refused(&err);
        return;
    }
    for (int64_t i = 0; i < mtlm_indexed_dataset_documents(d); i++) {
        const int64_t n = mtlm_indexed_dataset_tokens(d, i, i + 1);
        int32_t *read = mtlm_calloc((size_t) n, sizeof(*read));

        mtlm_indexed_dataset_read(d, i, 0, n, read);
        look(read, (size_t) n * sizeof(*read));
        free(read);
    }
    mtlm_indexed_dataset_close(d);
}

static void safetensors(const uint8_t *data, size_t bytes)
{
    struct mtlm_error err = {0};
    struct mtlm_safetensors *file;

    memory_file_put(0, "fuzz", data, bytes);
    file = mtlm_safetensors_open("fuzz", &err);
    if (!file) {
        refused(&err);
        return;
    }
    for (int64_t i = 0; i < mtlm_safetensors_count(file); i++) {
        const struct mtlm_safetensors_tensor *t = mtlm_safetensors_at(file, i);

        look(t->data, t->bytes);
        if (mtlm_safetensors_find(file, t->name) != t)
            abort();
    }
    if (mtlm_safetensors_metadata(file, "format"))
        look_at_text(mtlm_safetensors_metadata(file, "format"));
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

/* The first byte says whether it is a part ('p'), has to have a checksum of its
 * own ('r'), or gets one. */
static void manifest(const uint8_t *data, size_t bytes)
{
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
    text = seal(data + 1, bytes - 1, &all);
    if (data[0] == 'r')
        memory_file_put(0, "/manifest.json", data + 1, bytes - 1);
    else
        memory_file_put(0, "/manifest.json", text, all);
    if (mtlm_manifest_read(&m, "fuzz", &err) < 0) {
        refused(&err);
    } else {
        for (int64_t i = 0; i < m.files; i++) {
            look_at_text(m.file[i].name);
            free(mtlm_manifest_file_text(&m.file[i]));
            mtlm_manifest_verify(&m.file[i], "fuzz", &err);
        }
        mtlm_manifest_free(&m);
    }
    free(text);
}

/* Every value is set, too, and written again. */
static void set_options(const struct mtlm_config *config)
{
    struct mtlm_options options = {0};
    struct mtlm_error err = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (int i = 0; i < config->n; i++)
        if (mtlm_option_set(&options, config->entry[i].option,
                            config->entry[i].text, MTLM_SOURCE_CONFIG, "x",
                            &err)
            < 0)
            refused(&err);
        else
            mtlm_option_write(&options, config->entry[i].option, out);
    for (int i = 0; i < MTLM_OPTION_COUNT; i++)
        if (mtlm_option_table[i].type == MTLM_OPTION_TEXT
            || mtlm_option_table[i].type == MTLM_OPTION_SPLIT)
            free(*(char **) ((char *) &options + mtlm_option_table[i].offset));
    fclose(out);
    free(text);
}

static void configuration(const uint8_t *data, size_t bytes)
{
    struct mtlm_config config;
    struct mtlm_error err = {0};

    memory_file_put(0, "fuzz", data, bytes);
    if (mtlm_config_read(&config, "fuzz", &err) < 0)
        refused(&err);
    else
        set_options(&config);
    mtlm_config_free(&config);
}

static void look_at_vocabulary(struct mtlm_vocabulary *v)
{
    for (int64_t i = 0; i < v->n; i++)
        if (mtlm_vocabulary_find(v, v->text + v->begin[i],
                                 v->begin[i + 1] - v->begin[i])
            != i)
            abort();
    mtlm_vocabulary_free(v);
}

static void vocabulary_json(const uint8_t *data, size_t bytes)
{
    struct mtlm_vocabulary v;
    struct mtlm_error err = {0};

    memory_file_put(0, "fuzz", data, bytes);
    if (mtlm_vocabulary_read_json(&v, "fuzz", &err) < 0)
        refused(&err);
    else
        look_at_vocabulary(&v);
}

static void vocabulary_lines(const uint8_t *data, size_t bytes)
{
    struct mtlm_vocabulary v;
    struct mtlm_error err = {0};
    const struct mtlm_tokenizer *tokenizer;

    memory_file_put(0, "fuzz", data, bytes);
    if (mtlm_vocabulary_read_lines(&v, "fuzz", &err) < 0) {
        refused(&err);
        return;
    }
    look_at_vocabulary(&v);
    tokenizer = mtlm_wordpiece_open("fuzz", true, &err);
    if (!tokenizer)
        refused(&err);
    else
        tokenizer->destroy((struct mtlm_tokenizer *) tokenizer);
}

static void merges(const uint8_t *data, size_t bytes)
{
    static const char known[] =
        "a\nb\nc\nab\nbc\nabc\nabab\nabcabc\n\303\251\n";
    static struct mtlm_vocabulary v;
    struct mtlm_merges m;
    struct mtlm_error err = {0};

    memory_file_put(0, "vocabulary", known, sizeof(known) - 1);
    memory_file_put(1, "fuzz", data, bytes);
    if (v.n == 0 && mtlm_vocabulary_read_lines(&v, "vocabulary", &err) < 0)
        abort();
    if (mtlm_merges_read(&m, &v, "fuzz", &err) < 0) {
        refused(&err);
    } else {
        int32_t tokens[] = {0, 1, 0, 1, 2, 0, 1, 2, 8, 1};

        mtlm_merges_apply(&m, tokens, sizeof(tokens) / sizeof(*tokens));
        mtlm_merges_free(&m);
    }
}

static const struct {
    const char *name;
    void (*read)(const uint8_t *data, size_t bytes);
} readers[] = {
    {"idx", idx},
    {"safetensors", safetensors},
    {"manifest", manifest},
    {"config", configuration},
    {"vocabulary_json", vocabulary_json},
    {"vocabulary_lines", vocabulary_lines},
    {"merges", merges},
};

static void (*read_input)(const uint8_t *data, size_t bytes);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("MTLM_FUZZ");

    (void) argc;
    (void) argv;
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers) && name; i++)
        if (strcmp(readers[i].name, name) == 0)
            read_input = readers[i].read;
    if (read_input)
        return 0;
    fprintf(stderr, "MTLM_FUZZ names no reader:");
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
        fprintf(stderr, " %s", readers[i].name);
    fprintf(stderr, "\n");
    exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    read_input(data, bytes);
    memory_file_forget();
    return 0;
}
