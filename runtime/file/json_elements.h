#ifndef MTLM_JSON_ELEMENTS_H
#define MTLM_JSON_ELEMENTS_H

#include <stdint.h>

#include "runtime/file/json_file.h"

/* Takes an element of a list; it begins in this line of the file.  context is
 * the caller's. */
typedef int mtlm_json_element_take(void *context, const json_t *element,
                                   int64_t line, struct mtlm_error *err);

/* Calls take() for each element of the list under key of the object that a JSON
 * file is.  Memory holds one element at a time, so the file may be large.  Ends
 * at the first failure of take(), and fails as well.  MTLM_EXIT_INPUT, with
 * line and column: the file is no JSON, or no such object. */
int mtlm_json_elements_read(const char *path, const char *key,
                            mtlm_json_element_take *take, void *context,
                            struct mtlm_error *err);

#endif /* MTLM_JSON_ELEMENTS_H */
