/* Builds an .idx byte by byte. */
#include "config.h"

#include <string.h>

#include "tests/models/files.h"
#include "tests/models/indexed_image.h"

void indexed_image_put(struct indexed_image *image, const void *data,
                       size_t bytes)
{
    memcpy(image->data + image->bytes, data, bytes);
    image->bytes += bytes;
}

void indexed_image_put_i64(struct indexed_image *image, int64_t value)
{
    indexed_image_put(image, &value, 8);
}

struct indexed_image indexed_image_small(int dtype, int token_bytes)
{
    static const int32_t length[] = {3, 1, 2};
    static const int64_t bound[] = {0, 2, 2, 3};
    struct indexed_image image = {.bytes = 0};

    indexed_image_put(&image, "MMIDIDX\0\0", 9);
    indexed_image_put_i64(&image, 1);
    indexed_image_put(&image, &(unsigned char){dtype}, 1);
    indexed_image_put_i64(&image, 3);
    indexed_image_put_i64(&image, 4);
    indexed_image_put(&image, length, sizeof(length));
    for (int64_t at = 0, i = 0; i < 3; at += length[i++] * token_bytes)
        indexed_image_put_i64(&image, at);
    indexed_image_put(&image, bound, sizeof(bound));
    return image;
}

void indexed_image_write(const char *name, const struct indexed_image *image)
{
    files_write(name, image->data, image->bytes);
}
