#ifndef MTLM_SAFETENSORS_H
#define MTLM_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Named tensors in one file, as Hugging Face's safetensors has them: eight
 * bytes n, n bytes of JSON that say type, shape and place of each tensor,
 * and the tensors, row-major, without a gap. */

/* Element types: name and bytes. */
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

const char *mtlm_safetensors_dtype_name(enum mtlm_safetensors_dtype dtype);
int mtlm_safetensors_dtype_bytes(enum mtlm_safetensors_dtype dtype);

enum { MTLM_SAFETENSORS_MAX_RANK = 8 };

struct mtlm_safetensors_tensor {
    const char *name;
    enum mtlm_safetensors_dtype dtype;
    int rank; /* 0: a scalar */
    int64_t dim[MTLM_SAFETENSORS_MAX_RANK];
    const void *data; /* may be misaligned: files of others need not align */
    size_t bytes;
};

/* Reader: maps the file and checks all of it on open, so that no tensor can
 * lie outside.  NULL and MTLM_EXIT_INPUT, with file, what was expected and
 * found, when it is missing or damaged. */
struct mtlm_safetensors;

struct mtlm_safetensors *mtlm_safetensors_open(const char *path,
                                               struct mtlm_error *err);
void mtlm_safetensors_close(struct mtlm_safetensors *file); /* NULL is fine */

/* The tensors, 0 .. count - 1 in the order of their names, and by name (NULL:
 * there is none).  They belong to file. */
int64_t mtlm_safetensors_count(const struct mtlm_safetensors *file);
const struct mtlm_safetensors_tensor *mtlm_safetensors_at(
    const struct mtlm_safetensors *file, int64_t i);
const struct mtlm_safetensors_tensor *mtlm_safetensors_find(
    const struct mtlm_safetensors *file, const char *name);

/* The text of "__metadata__" under key; NULL: there is none. */
const char *mtlm_safetensors_metadata(const struct mtlm_safetensors *file,
                                      const char *key);

/* Writer: collects, then writes all at commit. */
struct mtlm_safetensors_writer;

struct mtlm_safetensors_writer *mtlm_safetensors_writer_create(
    const char *path);

/* name and value are copied. */
void mtlm_safetensors_writer_metadata(struct mtlm_safetensors_writer *writer,
                                      const char *key, const char *value);

/* Each name once.  name and dim [rank] are copied; data must stay until
 * commit. */
void mtlm_safetensors_writer_add(struct mtlm_safetensors_writer *writer,
                                 const char *name,
                                 enum mtlm_safetensors_dtype dtype, int rank,
                                 const int64_t dim[], const void *data);

/* The same for a tensor that is too much to be kept: at commit read(arg,
 * memory) writes it to memory, of as many bytes as it has. */
typedef void mtlm_safetensors_read(void *arg, void *memory);
void mtlm_safetensors_writer_add_later(struct mtlm_safetensors_writer *writer,
                                       const char *name,
                                       enum mtlm_safetensors_dtype dtype,
                                       int rank, const int64_t dim[],
                                       mtlm_safetensors_read *read, void *arg);

/* Writes the file, whole or not at all.  MTLM_EXIT_IO with the reason. */
int mtlm_safetensors_writer_commit(struct mtlm_safetensors_writer *writer,
                                   struct mtlm_error *err);

/* After commit: size and XXH3-64 of the file, and of the data of the i-th
 * tensor that was added. */
struct mtlm_safetensors_written {
    int64_t bytes;
    uint64_t hash;
};
struct mtlm_safetensors_written mtlm_safetensors_writer_written(
    const struct mtlm_safetensors_writer *writer);
uint64_t mtlm_safetensors_writer_hash(
    const struct mtlm_safetensors_writer *writer, int64_t i);

void mtlm_safetensors_writer_destroy(struct mtlm_safetensors_writer *writer);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_SAFETENSORS_H */
