#ifndef MTLM_CONVERT_SHARDS_H
#define MTLM_CONVERT_SHARDS_H

/* The files that share the tensors of an export: model.safetensors, or several
 * with model.safetensors.index.json. */

#include <stdint.h>

#include <jansson.h>

struct mtlm_shards {
    int64_t most;         /* bytes of tensors in a file; 0: one file */
    int n;                /* files so far */
    int64_t bytes, total; /* of the last file, of all files */
};

/* Returns the number of the file that takes the next tensor: the last file, or
 * a new one where the tensor would exceed `most`.  A tensor is never cut. */
int mtlm_shards_take(struct mtlm_shards *shards, int64_t bytes);

/* Returns the name of file i, once all tensors are taken; the caller frees the
 * name. */
char *mtlm_shards_name(const struct mtlm_shards *shards, int i);

/* Returns the index of several files: map has the file of each tensor.  Takes
 * the reference to map over. */
json_t *mtlm_shards_index(const struct mtlm_shards *shards, json_t *map);

/* Reads a size such as 300KB, 5GB or 1000000.  Returns 0 for anything else. */
int64_t mtlm_shards_parse(const char *text);

#endif /* MTLM_CONVERT_SHARDS_H */
