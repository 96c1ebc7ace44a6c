/* Reads and writes the manifest of a checkpoint. */

#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "models/weights/hash.h"
#include "models/weights/manifest.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/file/mapped_file.h"
#include "runtime/file/output_file.h"

#define FORMAT "mtlm-dag checkpoint"
#define MANIFEST "manifest.json"

/* Limit of a manifest: some three million slices of tensors. */
enum { MAX_BYTES = 1 << 30 };

/* The end of the text; the hash is computed with these zeros. */
static const char last_line[] = ",\n \"xxh3\": \"0000000000000000\"\n}\n";
enum { DIGITS = 16, AFTER_DIGITS = 4 }; /* "\n}\n behind them */

static void write_hash(uint64_t hash, char text[DIGITS + 1])
{
    snprintf(text, DIGITS + 1, "%016" PRIx64, hash);
}

/* Reads a hash as write_hash() writes one; -1: text is none. */
static int read_hash(const char *text, uint64_t *hash)
{
    char again[DIGITS + 1];

    *hash = strtoull(text, NULL, 16);
    write_hash(*hash, again);
    return strcmp(text, again) == 0 ? 0 : -1;
}

/* ---- one file's part ---- */

static json_t *pair(const int64_t value[2])
{
    return json_pack("[I,I]", (json_int_t) value[0], (json_int_t) value[1]);
}

static json_t *tensor_json(const struct mtlm_manifest_tensor *tensor)
{
    const struct mtlm_slice *s = &tensor->slice;
    char hash[DIGITS + 1];

    write_hash(tensor->hash, hash);
    return json_pack("{s:s,s:o,s:o,s:o,s:[I,I],s:s}", "name", tensor->name,
                     "full", pair(s->full), "first", pair(s->first), "shape",
                     pair(s->dim), "elements", (json_int_t) s->begin,
                     (json_int_t) s->count, "xxh3", hash);
}

static json_t *file_json(const struct mtlm_manifest_file *file)
{
    json_t *tensors = json_array();
    char hash[DIGITS + 1];

    for (int64_t i = 0; i < file->tensors; i++)
        json_array_append_new(tensors, tensor_json(&file->tensor[i]));
    write_hash(file->hash, hash);
    return json_pack("{s:s,s:I,s:s,s:o}", "name", file->name, "bytes",
                     (json_int_t) file->bytes, "xxh3", hash, "tensors",
                     tensors);
}

char *mtlm_manifest_file_text(const struct mtlm_manifest_file *file)
{
    json_t *json = file_json(file);
    char *text = json_dumps(json, JSON_COMPACT);

    json_decref(json);
    return text;
}

static int parse_tensor(json_t *json, struct mtlm_manifest_tensor *tensor)
{
    struct mtlm_slice *s = &tensor->slice;
    const char *name, *hash;
    json_int_t n[8];

    if (json_unpack(json, "{s:s,s:[I,I!],s:[I,I!],s:[I,I!],s:[I,I!],s:s!}",
                    "name", &name, "full", &n[0], &n[1], "first", &n[2], &n[3],
                    "shape", &n[4], &n[5], "elements", &n[6], &n[7], "xxh3",
                    &hash)
            < 0
        || read_hash(hash, &tensor->hash) < 0)
        return -1;
    *s = (struct mtlm_slice){.full = {n[0], n[1]},
                             .first = {n[2], n[3]},
                             .dim = {n[4], n[5]},
                             .begin = n[6],
                             .count = n[7]};
    tensor->name = mtlm_strdup(name);
    return mtlm_slice_check(s);
}

/* Whether a name stays within the directory. */
static bool is_plain(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

static int parse_file(json_t *json, struct mtlm_manifest_file *file)
{
    const char *name, *hash;
    json_int_t bytes;
    json_t *tensors, *tensor;
    size_t i;

    *file = (struct mtlm_manifest_file){0};
    if (json_unpack(json, "{s:s,s:I,s:s,s:o!}", "name", &name, "bytes", &bytes,
                    "xxh3", &hash, "tensors", &tensors)
            < 0
        || !json_is_array(tensors) || bytes < 0 || !is_plain(name)
        || read_hash(hash, &file->hash) < 0)
        return -1;
    file->name = mtlm_strdup(name);
    file->bytes = bytes;
    file->tensor =
        mtlm_calloc(json_array_size(tensors) + 1, sizeof(*file->tensor));
    json_array_foreach(tensors, i, tensor)
    {
        file->tensors++;
        if (parse_tensor(tensor, &file->tensor[i]) < 0)
            return -1;
    }
    return 0;
}

int mtlm_manifest_file_parse(const char *text, struct mtlm_manifest_file *file)
{
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const int rc = parse_file(json, file);

    json_decref(json);
    return rc;
}

/* ---- the whole ---- */

static char *manifest_text(const struct mtlm_manifest *manifest)
{
    json_t *files = json_array(), *json;
    char *text, *all;

    for (int64_t i = 0; i < manifest->files; i++)
        json_array_append_new(files, file_json(&manifest->file[i]));
    json = json_pack("{s:s,s:i,s:I,s:I,s:O,s:O*,s:O,s:o}", "format", FORMAT,
                     "version", MTLM_MANIFEST_VERSION, "iteration",
                     (json_int_t) manifest->iteration, "consumed_samples",
                     (json_int_t) manifest->samples, "settings",
                     manifest->settings, "options", manifest->options, "state",
                     manifest->state, "files", files);
    text = json_dumps(json, JSON_INDENT(1));
    text[strlen(text) - 2] = '\0'; /* the "\n}" that last_line has */
    all = mtlm_sprintf("%s%s", text, last_line);
    free(text);
    json_decref(json);
    return all;
}

static char *digits_of(char *text)
{
    return text + strlen(text) - AFTER_DIGITS - DIGITS;
}

int mtlm_manifest_write(const struct mtlm_manifest *manifest, const char *dir,
                        struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/%s", dir, MANIFEST);
    char *text = manifest_text(manifest), hash[DIGITS + 1];
    int rc;

    write_hash(XXH3_64bits(text, strlen(text)), hash);
    memcpy(digits_of(text), hash, DIGITS);
    rc = mtlm_output_file_write_text(path, text, err);
    free(text);
    free(path);
    return rc;
}

/* Whether the text ends with its own hash.  The text may be of any file: most
 * fail at the end already. */
static bool is_whole(const char *text, size_t bytes)
{
    const size_t end = sizeof(last_line) - 1, begin = bytes - end;
    const size_t digits = bytes - AFTER_DIGITS - DIGITS;
    char last[sizeof(last_line)], hash[DIGITS + 1];
    XXH3_state_t *state;

    if (bytes < end)
        return false;
    strcpy(last, last_line);
    memcpy(digits_of(last), text + digits, DIGITS);
    if (memcmp(text + begin, last, end) != 0)
        return false;
    state = mtlm_hash_begin();
    XXH3_64bits_update(state, text, begin);
    XXH3_64bits_update(state, last_line, end);
    write_hash(mtlm_hash_end(state), hash);
    return memcmp(text + digits, hash, DIGITS) == 0;
}

static int parse_files(struct mtlm_manifest *manifest, json_t *files)
{
    json_t *file;
    size_t i;

    manifest->file =
        mtlm_calloc(json_array_size(files) + 1, sizeof(*manifest->file));
    json_array_foreach(files, i, file)
    {
        manifest->files++;
        if (parse_file(file, &manifest->file[i]) < 0)
            return -1;
    }
    return 0;
}

static int parse(struct mtlm_manifest *manifest, json_t *json)
{
    json_int_t iteration, samples;
    json_t *files;

    if (json_unpack(json, "{s:I,s:I,s:O,s?O,s:O,s:o}", "iteration", &iteration,
                    "consumed_samples", &samples, "settings",
                    &manifest->settings, "options", &manifest->options, "state",
                    &manifest->state, "files", &files)
            < 0
        || !json_is_object(manifest->settings)
        || (manifest->options && !json_is_object(manifest->options))
        || !json_is_object(manifest->state) || !json_is_array(files)
        || iteration < 0 || samples < 0)
        return -1;
    manifest->iteration = iteration;
    manifest->samples = samples;
    return parse_files(manifest, files);
}

/* Compares the places in a tensor, row by row, of element i of x and element j
 * of y: below, at or above 0. */
static int compare_places(const struct mtlm_slice *x, int64_t i,
                          const struct mtlm_slice *y, int64_t j)
{
    const int64_t row = mtlm_slice_row(x, i), other = mtlm_slice_row(y, j);
    const int64_t col = mtlm_slice_column(x, i);
    const int64_t beside = mtlm_slice_column(y, j);

    return row != other ? mtlm_compare(row, other) : mtlm_compare(col, beside);
}

/* Orders slices by tensor, then by their first element. */
static int by_place(const void *a, const void *b)
{
    const struct mtlm_manifest_tensor *x =
        *(const struct mtlm_manifest_tensor *const *) a;
    const struct mtlm_manifest_tensor *y =
        *(const struct mtlm_manifest_tensor *const *) b;
    const int names = strcmp(x->name, y->name);

    return names ? names : compare_places(&x->slice, 0, &y->slice, 0);
}

/* Returns all slices of the manifest in that order, and their number.  The
 * caller frees the list. */
static const struct mtlm_manifest_tensor **sort_slices(
    const struct mtlm_manifest *manifest, int64_t *slices)
{
    const struct mtlm_manifest_tensor **list;
    int64_t n = 0;

    *slices = 0;
    for (int64_t f = 0; f < manifest->files; f++)
        *slices += manifest->file[f].tensors;
    list = mtlm_calloc((size_t) *slices + 1, sizeof(*list));
    for (int64_t f = 0; f < manifest->files; f++)
        for (int64_t i = 0; i < manifest->file[f].tensors; i++)
            list[n++] = &manifest->file[f].tensor[i];
    qsort(list, (size_t) n, sizeof(*list), by_place);
    return list;
}

/* Whether y begins behind the last element of x, or belongs to another tensor.
 */
static bool is_behind(const struct mtlm_manifest_tensor *y,
                      const struct mtlm_manifest_tensor *x)
{
    return strcmp(x->name, y->name) != 0
           || compare_places(&y->slice, 0, &x->slice, x->slice.count - 1) > 0;
}

/* Refuses slices that share elements: which values count would depend on their
 * order, and a missing element would not show in the number of elements. */
static int check_overlaps(const struct mtlm_manifest *manifest,
                          const char *path, struct mtlm_error *err)
{
    int64_t n;
    const struct mtlm_manifest_tensor **t = sort_slices(manifest, &n);
    int rc = 0;

    for (int64_t i = 0; i < n && rc == 0; i++)
        for (int64_t j = i + 1; j < n && !is_behind(t[j], t[i]); j++)
            if (mtlm_slice_overlap(&t[i]->slice, &t[j]->slice)) {
                rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                                    "%s: two slices of tensor \"%.100s\" "
                                    "overlap",
                                    path, t[i]->name);
                break;
            }
    free(t);
    return rc;
}

static int read_text(struct mtlm_manifest *manifest, const char *path,
                     const char *text, size_t bytes, struct mtlm_error *err)
{
    json_error_t why;
    const char *format = NULL;
    json_int_t version = 0;
    int rc = 0;
    json_t *json;

    if (!is_whole(text, bytes))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: damaged, its last line is not the checksum "
                              "of its %zu bytes",
                              path, bytes);
    json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
    json_unpack(json, "{s:s,s:I}", "format", &format, "version", &version);
    if (!format || strcmp(format, FORMAT) != 0 || version < 1)
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: expected a \"" FORMAT "\", found another file",
                            path);
    else if (version > MTLM_MANIFEST_VERSION)
        rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                            "%s: a checkpoint of version %" PRId64
                            ", this program reads versions up to %d",
                            path, (int64_t) version, MTLM_MANIFEST_VERSION);
    else if (parse(manifest, json) < 0)
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: its list of files is invalid", path);
    else
        rc = check_overlaps(manifest, path, err);
    json_decref(json);
    return rc;
}

int mtlm_manifest_read(struct mtlm_manifest *manifest, const char *dir,
                       struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/%s", dir, MANIFEST);
    struct mtlm_mapped_file map = {0};
    /* Read instead of map: a failing disk must not end a job that only looks
     * for checkpoints. */
    int rc = mtlm_mapped_file_read(&map, path, MAX_BYTES, err);

    *manifest = (struct mtlm_manifest){0};
    if (rc == 0)
        rc = read_text(manifest, path, (const char *) map.data, map.bytes, err);
    mtlm_mapped_file_close(&map);
    free(path);
    if (rc < 0)
        mtlm_manifest_free(manifest);
    return rc;
}

int mtlm_manifest_read_of(struct mtlm_manifest *manifest, const char *dir,
                          int64_t iteration, struct mtlm_error *err)
{
    int rc = mtlm_manifest_read(manifest, dir, err);

    if (rc == 0 && manifest->iteration != iteration) {
        rc =
            mtlm_error_set(err, MTLM_EXIT_INPUT,
                           "%s: renamed, its manifest is of iteration %" PRId64,
                           dir, manifest->iteration);
        mtlm_manifest_free(manifest);
    }
    return rc;
}

/* ---- memory ---- */

void mtlm_manifest_file_free(struct mtlm_manifest_file *file)
{
    for (int64_t i = 0; i < file->tensors; i++)
        free(file->tensor[i].name);
    free(file->tensor);
    free(file->name);
    *file = (struct mtlm_manifest_file){0};
}

void mtlm_manifest_free(struct mtlm_manifest *manifest)
{
    for (int64_t i = 0; i < manifest->files; i++)
        mtlm_manifest_file_free(&manifest->file[i]);
    free(manifest->file);
    json_decref(manifest->settings);
    json_decref(manifest->options);
    json_decref(manifest->state);
    *manifest = (struct mtlm_manifest){0};
}
