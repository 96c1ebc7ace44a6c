#ifndef MTLM_ASSUMED_KEYS_H
#define MTLM_ASSUMED_KEYS_H

#include "runtime/base/error.h"

/* Returns the keys of a cluster file whose comment has the word, such as
 * "assumed" or "fitted": "efficiency, latency_us of [host]".  The comment
 * stands behind the value, or in the lines directly above.  A key of several
 * sections is named with its section.  A pipe is read already: the text says
 * that the keys are unknown.  The caller frees the text.  NULL: the file cannot
 * be read (MTLM_EXIT_USAGE). */
char *mtlm_assumed_keys(const char *path, const char *word,
                        struct mtlm_error *err);

#endif /* MTLM_ASSUMED_KEYS_H */
