/* Shape checks that infer functions of operations share. */

#include "config.h"

#include "codelets/infer.h"

int mtlm_infer_expect_shape(const struct mtlm_call *call, int i,
                            const char *name, struct mtlm_shape want,
                            struct mtlm_error *err)
{
    char got_text[96], want_text[96];

    if (mtlm_shape_equal(&call->shape[i], &want))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE, "%s is %s, needs %s", name,
                          mtlm_shape_str(&call->shape[i], got_text),
                          mtlm_shape_str(&want, want_text));
}

int mtlm_infer_expect_rank(const struct mtlm_call *call, int i,
                           const char *name, int rank, struct mtlm_error *err)
{
    char text[96];

    if (call->shape[i].rank == rank)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE, "%s is %s, needs %d dimensions",
                          name, mtlm_shape_str(&call->shape[i], text), rank);
}

struct mtlm_shape mtlm_infer_shape_with_cols(struct mtlm_shape shape,
                                             int64_t cols)
{
    if (shape.rank > 0)
        shape.dim[shape.rank - 1] = cols;
    return shape;
}

struct mtlm_shape mtlm_infer_shape_of_rows(struct mtlm_shape shape)
{
    if (shape.rank > 0)
        shape.dim[--shape.rank] = 0;
    return shape;
}
