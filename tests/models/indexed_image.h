#ifndef MTLM_TESTS_INDEXED_IMAGE_H
#define MTLM_TESTS_INDEXED_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* An .idx put together byte by byte, independently of the writer. */
struct indexed_image {
    unsigned char data[512];
    size_t bytes;
};

void indexed_image_put(struct indexed_image *image, const void *data,
                       size_t bytes);
void indexed_image_put_i64(struct indexed_image *image, int64_t value);

/* Sequences of 3, 1 and 2 tokens; documents: two sequences, none, one. */
struct indexed_image indexed_image_small(int dtype, int token_bytes);

/* Writes the image to a file of files.h. */
void indexed_image_write(const char *name, const struct indexed_image *image);

#endif /* MTLM_TESTS_INDEXED_IMAGE_H */
