#ifndef MTLM_MANIFEST_H
#define MTLM_MANIFEST_H

#include <stdint.h>

#include <jansson.h>

#include "models/weights/safetensors.h"
#include "models/weights/slice.h"

/* The manifest of a checkpoint, manifest.json: its contents, and hashes that
 * prove them whole.  The manifest is written last, and makes a directory a
 * checkpoint. The file ends with its own XXH3-64: no change of a byte goes
 * unseen.
 *
 * Tensors have the names of the whole model, independent of the layout that
 * wrote them.  Each file holds slices of tensors, in fp32. */

enum { MTLM_MANIFEST_VERSION = 1 };

struct mtlm_manifest_tensor {
    char *name; /* as in the file */
    struct mtlm_slice slice;
    uint64_t hash; /* XXH3-64 of its data */
};

struct mtlm_manifest_file {
    char *name; /* in the checkpoint's directory */
    int64_t bytes;
    uint64_t hash;                       /* XXH3-64 of the whole file */
    struct mtlm_manifest_tensor *tensor; /* [tensors] */
    int64_t tensors;
};

struct mtlm_manifest {
    int64_t iteration, samples; /* done, consumed */
    json_t *settings;           /* texts by option, which must agree */
    json_t *options; /* texts by option, others; NULL: none stored */
    json_t *state;   /* numbers of the training, by name */
    struct mtlm_manifest_file *file; /* [files] */
    int64_t files;
};

/* Returns one file's part of a manifest as JSON text, for the process that
 * writes the manifest; the caller frees the text. */
char *mtlm_manifest_file_text(const struct mtlm_manifest_file *file);

/* Parses such a text; the caller frees *file.  -1: the text is no such part. */
int mtlm_manifest_file_parse(const char *text, struct mtlm_manifest_file *file);

/* Writes DIR/manifest.json, whole or not at all.  MTLM_EXIT_IO. */
int mtlm_manifest_write(const struct mtlm_manifest *manifest, const char *dir,
                        struct mtlm_error *err);

/* Reads DIR/manifest.json; the caller frees the manifest.  MTLM_EXIT_INPUT with
 * file and reason: missing, damaged, or slices overlap.  MTLM_EXIT_IO:
 * unreadable.
 * MTLM_EXIT_USAGE: whole, but of a newer version. */
int mtlm_manifest_read(struct mtlm_manifest *manifest, const char *dir,
                       struct mtlm_error *err);

/* Reads like mtlm_manifest_read().  MTLM_EXIT_INPUT, too: the manifest is of
 * another iteration, in a renamed directory. */
int mtlm_manifest_read_of(struct mtlm_manifest *manifest, const char *dir,
                          int64_t iteration, struct mtlm_error *err);

/* Checks that the checkpoint in dir looks whole: a manifest of that iteration,
 * and all files of the right size.  Reads no weights.  MTLM_EXIT_INPUT:
 * damaged. MTLM_EXIT_IO, MTLM_EXIT_USAGE: unknown, see mtlm_manifest_read(). */
int mtlm_manifest_look(const char *dir, int64_t iteration,
                       struct mtlm_error *err);

/* Verifies a file of the checkpoint in dir: size, tensors and every byte.
 * MTLM_EXIT_INPUT with the file and, where known, the tensor.  MTLM_EXIT_IO:
 * unreadable. */
int mtlm_manifest_verify(const struct mtlm_manifest_file *file, const char *dir,
                         struct mtlm_error *err);

/* Returns how many elements of a slice, in rows of the tensor below `rows`, the
 * checkpoint's files hold. */
int64_t mtlm_manifest_count(const struct mtlm_manifest *manifest,
                            const char *name, const struct mtlm_slice *slice,
                            int64_t rows);

/* Copies a slice's elements from the checkpoint's files to values
 * [slice->count].  Opens files on demand, in file [files], which the caller
 * closes.  MTLM_EXIT_INPUT: a file has changed. */
int mtlm_manifest_collect(const struct mtlm_manifest *manifest, const char *dir,
                          struct mtlm_safetensors **file, const char *name,
                          const struct mtlm_slice *slice, float *values,
                          struct mtlm_error *err);

/* Free the contents.  Do nothing for a zeroed struct. */
void mtlm_manifest_free(struct mtlm_manifest *manifest);
void mtlm_manifest_file_free(struct mtlm_manifest_file *file);

#endif /* MTLM_MANIFEST_H */
