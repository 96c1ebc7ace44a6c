#ifndef MTLM_MANIFEST_H
#define MTLM_MANIFEST_H

#include <stdint.h>

#include <jansson.h>

#include "models/weights/safetensors.h"
#include "models/weights/slice.h"

/* manifest.json of a checkpoint: what it holds and how to know that it is
 * whole.  The last to be written, it is what makes a directory a checkpoint;
 * its own XXH3-64 ends it, so that no byte of it can change unseen.
 *
 * Tensors are known by the names of the whole model, whatever the layout that
 * wrote them: each file has slices of them, in fp32. */

enum { MTLM_MANIFEST_VERSION = 1 };

struct mtlm_manifest_tensor {
    char *name; /* in the file, too */
    struct mtlm_slice slice;
    uint64_t hash; /* XXH3-64 of its data */
};

struct mtlm_manifest_file {
    char *name; /* within the checkpoint's directory */
    int64_t bytes;
    uint64_t hash; /* XXH3-64 of the whole file */
    struct mtlm_manifest_tensor *tensor;
    int64_t tensors;
};

struct mtlm_manifest {
    int64_t iteration, samples; /* done, consumed */
    json_t *settings;           /* what must agree: texts by option */
    json_t *state;              /* numbers of the training by name */
    struct mtlm_manifest_file *file;
    int64_t files;
};

/* One file's part of a manifest as JSON text, for the one who writes the
 * manifest; and back, -1 if it is no such thing.  The caller frees the text. */
char *mtlm_manifest_file_text(const struct mtlm_manifest_file *file);
int mtlm_manifest_file_parse(const char *text, struct mtlm_manifest_file *file);

/* Writes DIR/manifest.json, whole or not at all: MTLM_EXIT_IO. */
int mtlm_manifest_write(const struct mtlm_manifest *manifest, const char *dir,
                        struct mtlm_error *err);

/* Reads it.  MTLM_EXIT_INPUT with file and reason when it is missing or
 * damaged, MTLM_EXIT_IO when it cannot be read, MTLM_EXIT_USAGE when it is of a
 * newer version: whole, but not for this program. */
int mtlm_manifest_read(struct mtlm_manifest *manifest, const char *dir,
                       struct mtlm_error *err);

/* The same; MTLM_EXIT_INPUT, too, when it is not of that iteration, but of a
 * directory that was renamed. */
int mtlm_manifest_read_of(struct mtlm_manifest *manifest, const char *dir,
                          int64_t iteration, struct mtlm_error *err);

/* Whether the checkpoint in dir looks whole: a manifest of that iteration, and
 * all files of the size that it says.  That reads no weights, however many.
 * MTLM_EXIT_INPUT: it is damaged; MTLM_EXIT_IO or MTLM_EXIT_USAGE, as above:
 * nobody knows. */
int mtlm_manifest_look(const char *dir, int64_t iteration,
                       struct mtlm_error *err);

/* Whether that file of the checkpoint in dir is what was written: size, tensors
 * and every byte.  MTLM_EXIT_INPUT with file and, where it is one, tensor, or
 * MTLM_EXIT_IO as above. */
int mtlm_manifest_verify(const struct mtlm_manifest_file *file, const char *dir,
                         struct mtlm_error *err);

/* Of a slice the elements in rows below `rows` that its files have: how many;
 * and copied to values, from files that are opened as they are needed, file
 * [files], for the caller to close.  MTLM_EXIT_INPUT when a file changed. */
int64_t mtlm_manifest_count(const struct mtlm_manifest *manifest,
                            const char *name, const struct mtlm_slice *slice,
                            int64_t rows);
int mtlm_manifest_collect(const struct mtlm_manifest *manifest, const char *dir,
                          struct mtlm_safetensors **file, const char *name,
                          const struct mtlm_slice *slice, float *values,
                          struct mtlm_error *err);

/* Frees what is in it; nothing happens to a zeroed one. */
void mtlm_manifest_free(struct mtlm_manifest *manifest);
void mtlm_manifest_file_free(struct mtlm_manifest_file *file);

#endif /* MTLM_MANIFEST_H */
