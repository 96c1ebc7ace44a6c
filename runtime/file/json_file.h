#ifndef MTLM_JSON_FILE_H
#define MTLM_JSON_FILE_H

#include <jansson.h>

#include "runtime/file/mapped_file.h"

/* Parses a mapped JSON file; returns a new reference.  NULL and MTLM_EXIT_INPUT
 * with line and column: the file is no JSON, or an object has a key twice. */
json_t *mtlm_json_file_parse(const struct mtlm_mapped_file *file,
                             struct mtlm_error *err);

/* Maps and parses a JSON file; fails like mtlm_mapped_file_open(), too. */
json_t *mtlm_json_file_read(const char *path, struct mtlm_error *err);

/* The same for a reader of texts alone: integers become real numbers, so that
 * they may have more than 64 bits. */
json_t *mtlm_json_file_read_texts(const char *path, struct mtlm_error *err);

/* Returns the text under key, borrowed; NULL: there is none. */
const char *mtlm_json_file_text(const json_t *object, const char *key);

#endif /* MTLM_JSON_FILE_H */
