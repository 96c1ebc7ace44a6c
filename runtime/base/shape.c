/* Shapes of dense tensors. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/base/shape.h"

int64_t mtlm_shape_elems(const struct mtlm_shape *shape)
{
    int64_t n = 1;

    for (int i = 0; i < shape->rank; i++)
        n *= shape->dim[i];
    return n;
}

int64_t mtlm_shape_cols(const struct mtlm_shape *shape)
{
    return shape->rank ? shape->dim[shape->rank - 1] : 1;
}

int64_t mtlm_shape_rows(const struct mtlm_shape *shape)
{
    return mtlm_shape_elems(shape) / mtlm_shape_cols(shape);
}

bool mtlm_shape_equal(const struct mtlm_shape *a, const struct mtlm_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *mtlm_shape_str(const struct mtlm_shape *shape, char buf[96])
{
    int len = snprintf(buf, 96, "[");

    for (int i = 0; i < shape->rank; i++)
        len += snprintf(buf + len, 96 - len, "%s%" PRId64, i ? ", " : "",
                        shape->dim[i]);
    snprintf(buf + len, 96 - len, "]");
    return buf;
}
