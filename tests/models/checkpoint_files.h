#ifndef MTLM_TESTS_MODELS_CHECKPOINT_FILES_H
#define MTLM_TESTS_MODELS_CHECKPOINT_FILES_H

#include "models/weights/manifest.h"

/* Small checkpoints, for tests that damage them: one file of two tensors,
 * which ends with a.weight [2, 3] and a.bias [2]. */

#define CHECKPOINT_FILE "rank-0.safetensors"
enum { CHECKPOINT_WEIGHT_BYTES = 24, CHECKPOINT_BIAS_BYTES = 8 };

/* Writes one of 160 samples into the directory dir, which exists.  Returns 0,
 * or -1 with err. */
int checkpoint_write(const char *dir, int64_t iteration,
                     struct mtlm_error *err);

/* Whether dir is a whole checkpoint: 0, or -1 with err. */
int checkpoint_check(const char *dir, struct mtlm_error *err);

/* How often a writer has asked for a.bias, which it is given late. */
int checkpoint_bias_reads(void);

/* A whole tensor as a manifest names it. */
struct mtlm_manifest_tensor checkpoint_tensor(const char *name, int64_t rows,
                                              int64_t cols, uint64_t hash);

/* Writes as name (tests/models/files.h) the manifest of checkpoint as a later
 * version of the program would. */
void checkpoint_write_newer(const char *checkpoint, const char *name);

#endif /* MTLM_TESTS_MODELS_CHECKPOINT_FILES_H */
