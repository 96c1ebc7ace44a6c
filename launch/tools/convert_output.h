#ifndef MTLM_CONVERT_OUTPUT_H
#define MTLM_CONVERT_OUTPUT_H

/* The directory that an export writes.  Files lie in a temporary directory
 * until all of them are whole. */

#include <stdbool.h>
#include <stdint.h>

#include "launch/tools/convert_shards.h"
#include "runtime/base/error.h"

#define MTLM_CONVERT_CONFIG "config.json"
#define MTLM_CONVERT_INDEX "model.safetensors.index.json"

struct mtlm_convert_output {
    const char *path;                 /* the directory, new or empty */
    const struct mtlm_shards *shards; /* names of the files with weights */
    char *temporary;                  /* directory of the files; NULL: none */
    bool inside; /* the directory was there: temporary lies in it */
};

/* Makes the temporary directory; the caller frees output->temporary.
 * MTLM_EXIT_USAGE: the directory holds something.  MTLM_EXIT_IO: it cannot be
 * written, or has no room for bytes. */
int mtlm_convert_output_claim(struct mtlm_convert_output *output, int64_t bytes,
                              struct mtlm_error *err);

/* Gives the files, which are whole, their place in the directory. */
int mtlm_convert_output_commit(const struct mtlm_convert_output *output,
                               struct mtlm_error *err);

/* Removes the temporary directory, if there is one. */
void mtlm_convert_output_discard(const struct mtlm_convert_output *output);

#endif /* MTLM_CONVERT_OUTPUT_H */
