/* Parses JSON files with jansson, and rejects duplicate keys. */

#include "config.h"

#include "runtime/file/json_file.h"

static json_t *parse(const struct mtlm_mapped_file *file, size_t flags,
                     struct mtlm_error *err)
{
    json_error_t why;
    json_t *json;

    if (file->bytes == 0) {
        mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: the file is empty",
                       file->path);
        return NULL;
    }
    json = json_loadb((const char *) file->data, (size_t) file->bytes,
                      JSON_REJECT_DUPLICATES | flags, &why);
    if (!json)
        mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: line %d, column %d: %s",
                       file->path, why.line, why.column, why.text);
    return json;
}

json_t *mtlm_json_file_parse(const struct mtlm_mapped_file *file,
                             struct mtlm_error *err)
{
    return parse(file, 0, err);
}

static json_t *read_file(const char *path, size_t flags, struct mtlm_error *err)
{
    struct mtlm_mapped_file file;
    json_t *json = NULL;

    if (mtlm_mapped_file_open(&file, path, err) == 0)
        json = parse(&file, flags, err);
    mtlm_mapped_file_close(&file);
    return json;
}

json_t *mtlm_json_file_read(const char *path, struct mtlm_error *err)
{
    return read_file(path, 0, err);
}

json_t *mtlm_json_file_read_texts(const char *path, struct mtlm_error *err)
{
    return read_file(path, JSON_DECODE_INT_AS_REAL, err);
}

const char *mtlm_json_file_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}
