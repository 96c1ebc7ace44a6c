#ifndef MTLM_INDEXED_PRIVATE_H
#define MTLM_INDEXED_PRIVATE_H

/* The opened data set, shared by indexed_dataset.c and indexed_cut.c. */

#include "models/text/indexed_dataset.h"
#include "models/text/indexed_format.h"
#include "runtime/file/mapped_file.h"

struct mtlm_indexed_dataset {
    char *prefix;
    struct mtlm_mapped_file bin;
    enum mtlm_idx_dtype dtype;
    int token_bytes;
    int64_t documents, sequences;
    int64_t *start; /* [sequences + 1]: first token of each; last: tokens */
    int64_t *bound; /* [documents + 1]: first sequence of each */
};

#endif /* MTLM_INDEXED_PRIVATE_H */
