#ifndef MTLM_SAFETENSORS_H
#define MTLM_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Files of named tensors in Hugging Face's format safetensors.  A file has the
 * number n in 8 bytes; n bytes of JSON with type, shape and place of each
 * tensor; then the tensors, row-major, without gaps. */

/* Element types: name, bytes. */
#define MTLM_SAFETENSORS_DTYPES(DTYPE)                                         \
    DTYPE(F64, 8)                                                              \
    DTYPE(F32, 4)                                                              \
    DTYPE(F16, 2)                                                              \
    DTYPE(BF16, 2)                                                             \
    DTYPE(I64, 8)                                                              \
    DTYPE(I32, 4)                                                              \
    DTYPE(I16, 2)                                                              \
    DTYPE(I8, 1)                                                               \
    DTYPE(U8, 1)                                                               \
    DTYPE(BOOL, 1)

enum mtlm_safetensors_dtype {
#define DTYPE(name, bytes) MTLM_SAFETENSORS_##name,
    MTLM_SAFETENSORS_DTYPES(DTYPE)
#undef DTYPE
};

/* Returns the name of an element type: "F32". */
const char *mtlm_safetensors_dtype_name(enum mtlm_safetensors_dtype dtype);

/* Returns the bytes of an element. */
int mtlm_safetensors_dtype_bytes(enum mtlm_safetensors_dtype dtype);

enum { MTLM_SAFETENSORS_MAX_RANK = 8 };

struct mtlm_safetensors_tensor {
    const char *name;
    enum mtlm_safetensors_dtype dtype;
    int rank; /* 0: a scalar */
    int64_t dim[MTLM_SAFETENSORS_MAX_RANK];
    const void *data; /* perhaps misaligned, in files of other programs */
    size_t bytes;
};

/* Compares the names of two tensors, for qsort() and bsearch(). */
int mtlm_safetensors_compare_names(const void *a, const void *b);

/* A file opened for reading. */
struct mtlm_safetensors;

/* Maps a file, and checks in the header that all tensors lie inside the file.
 * The caller closes the file.  Returns NULL and sets *err on failure:
 * MTLM_EXIT_INPUT if the file is missing or damaged, MTLM_EXIT_IO if
 * unreadable. */
struct mtlm_safetensors *mtlm_safetensors_open(const char *path,
                                               struct mtlm_error *err);

/* Unmaps the file.  file may be NULL. */
void mtlm_safetensors_close(struct mtlm_safetensors *file);

/* Returns the number of tensors. */
int64_t mtlm_safetensors_count(const struct mtlm_safetensors *file);

/* Returns tensor i in the order of names, which file owns. */
const struct mtlm_safetensors_tensor *mtlm_safetensors_at(
    const struct mtlm_safetensors *file, int64_t i);

/* Returns the tensor of that name, which file owns; NULL: there is none. */
const struct mtlm_safetensors_tensor *mtlm_safetensors_find(
    const struct mtlm_safetensors *file, const char *name);

/* A file being written: collects tensors, and writes them at commit. */
struct mtlm_safetensors_writer;

/* Creates a writer; the caller destroys it. */
struct mtlm_safetensors_writer *mtlm_safetensors_writer_create(
    const char *path);

/* Adds metadata; key and value are copied. */
void mtlm_safetensors_writer_metadata(struct mtlm_safetensors_writer *writer,
                                      const char *key, const char *value);

/* Adds a tensor; each name once.  name and dim [rank] are copied; data is
 * borrowed until commit. */
void mtlm_safetensors_writer_add(struct mtlm_safetensors_writer *writer,
                                 const char *name,
                                 enum mtlm_safetensors_dtype dtype, int rank,
                                 const int64_t dim[], const void *data);

/* Adds a tensor that is too large to keep in memory.  At commit, read(arg,
 * memory) writes the tensor's bytes to memory; -1 with err ends the commit. */
typedef int mtlm_safetensors_read(void *arg, void *memory,
                                  struct mtlm_error *err);
void mtlm_safetensors_writer_add_later(struct mtlm_safetensors_writer *writer,
                                       const char *name,
                                       enum mtlm_safetensors_dtype dtype,
                                       int rank, const int64_t dim[],
                                       mtlm_safetensors_read *read, void *arg);

/* Makes the commit ask between tensors whether to stop: stopped() returns 0, or
 * -1 with err. */
void mtlm_safetensors_writer_stop(struct mtlm_safetensors_writer *writer,
                                  int (*stopped)(struct mtlm_error *err));

/* Writes the file, whole or not at all.  On failure, returns -1 and sets *err
 * (MTLM_EXIT_IO, or what read() or stopped() sets). */
int mtlm_safetensors_writer_commit(struct mtlm_safetensors_writer *writer,
                                   struct mtlm_error *err);

/* Size and XXH3-64 of a written file. */
struct mtlm_safetensors_written {
    int64_t bytes;
    uint64_t hash;
};

/* Returns size and hash of the file.  Called after commit. */
struct mtlm_safetensors_written mtlm_safetensors_writer_written(
    const struct mtlm_safetensors_writer *writer);

/* Returns the XXH3-64 of the i-th added tensor.  Called after commit. */
uint64_t mtlm_safetensors_writer_hash(
    const struct mtlm_safetensors_writer *writer, int64_t i);

/* Frees the writer. */
void mtlm_safetensors_writer_destroy(struct mtlm_safetensors_writer *writer);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_SAFETENSORS_H */
