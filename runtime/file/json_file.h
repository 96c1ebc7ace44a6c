#ifndef MTLM_JSON_FILE_H
#define MTLM_JSON_FILE_H

#include <jansson.h>

#include "runtime/file/mapped_file.h"

/* What a JSON file holds: a new reference.  NULL and MTLM_EXIT_INPUT with line
 * and column: it is not in JSON, or has a key twice, of which nobody could say
 * which one counts.  To read it can also fail as to map it. */
json_t *mtlm_json_file_parse(const struct mtlm_mapped_file *file,
                             struct mtlm_error *err);
json_t *mtlm_json_file_read(const char *path, struct mtlm_error *err);

#endif /* MTLM_JSON_FILE_H */
