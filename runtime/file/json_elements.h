#ifndef MTLM_JSON_ELEMENTS_H
#define MTLM_JSON_ELEMENTS_H

#include <stdint.h>

#include "runtime/file/json_file.h"

/* Takes an element of a list; it begins in this line of the file.  context is
 * the caller's. */
typedef int mtlm_json_element_take(void *context, const json_t *element,
                                   int64_t line, struct mtlm_error *err);

/* Takes another member of the object. */
typedef void mtlm_json_member_take(void *context, const char *key,
                                   const json_t *value);

/* What to do with the object that a JSON file is. */
struct mtlm_json_taker {
    const char *key;              /* of the list */
    mtlm_json_element_take *take; /* for each element of the list */
    mtlm_json_member_take *other; /* for each other member, or NULL */
    void *context;
};

/* Calls the taker's functions in the order of the file.  Memory holds one
 * element at a time, so the file may be large.  Ends at the first failure of
 * take(), and fails as well.  MTLM_EXIT_INPUT, with line and column: the file
 * is no JSON, or no such object. */
int mtlm_json_elements_read(const char *path,
                            const struct mtlm_json_taker *taker,
                            struct mtlm_error *err);

#endif /* MTLM_JSON_ELEMENTS_H */
