#ifndef MTLM_GRAPH_BUILDER_H
#define MTLM_GRAPH_BUILDER_H

#include "graph/build/program.h"
#include "graph/build/rows.h"

/* A virtual stage under construction: what the files that write its nodes
 * (graph/build/layers.h, graph/build/embedding_head.h, graph/build/stage.h)
 * share. */
struct mtlm_builder {
    struct mtlm_program *program;
    struct mtlm_graph *graph;
    const struct mtlm_program_config *config;
    struct mtlm_stage *stage;
    struct mtlm_list *list; /* that nodes are appended to */
    enum mtlm_phase phase;
    bool train; /* with dropout */
    int n_parts;
    struct mtlm_tensor *lengths; /* [1, b]: tokens before the padding */
};

/* The following calls belong to this layer; -1: to none. */
void mtlm_build_at(const struct mtlm_builder *b, int64_t layer);

/* Calls kind on the given operands, in order; those that the call makes come
 * last.  Returns the first of them, or the last operand where it makes
 * none. */
struct mtlm_tensor *mtlm_build_call(const struct mtlm_builder *b,
                                    enum mtlm_op_kind kind,
                                    const union mtlm_attr *attr,
                                    struct mtlm_tensor *const in[], int n);

#define MTLM_CALL(b, OP, attr, ...)                                            \
    mtlm_build_call(b, MTLM_OP_##OP, attr,                                     \
                    (struct mtlm_tensor *[]){__VA_ARGS__},                     \
                    sizeof((struct mtlm_tensor *[]){__VA_ARGS__})              \
                        / sizeof(struct mtlm_tensor *))

/* The weight of this stage. */
struct mtlm_tensor *mtlm_build_param(const struct mtlm_builder *b,
                                     enum mtlm_param kind, int64_t layer);

/* Adds up the partial results of the tensor-parallel group in place;
 * mtlm_build_reduce_max() takes their maximum. */
void mtlm_build_reduce(const struct mtlm_builder *b, struct mtlm_tensor *x);
void mtlm_build_reduce_max(const struct mtlm_builder *b, struct mtlm_tensor *x);

/* What is not split by tensor parallelism - layernorm, dropout, what is added
 * - every rank of the group computes for all rows, or, with sequence
 * parallelism (arXiv 2205.05198, section 4.2.2), for its own: of a part of n
 * rows the tp_rank-th n / tp.
 *
 * Megatron's g: the sum of x [s_i, b, h] over the group, this rank's own rows
 * of it. */
struct mtlm_tensor *mtlm_build_sum(const struct mtlm_builder *b,
                                   struct mtlm_tensor *x);

/* Megatron's f: every rank of the group uses all rows of x, so that its
 * gradient is the sum of theirs. */
struct mtlm_tensor *mtlm_build_copy_to_group(const struct mtlm_builder *b,
                                             struct mtlm_tensor *x);

/* Rows first .. first + n - 1 of the samples. */
struct mtlm_row_range {
    int64_t first, n;
};

/* The rows of part i, and this rank's own ones. */
struct mtlm_row_range mtlm_build_part(const struct mtlm_builder *b, int i);
struct mtlm_row_range mtlm_build_own(const struct mtlm_builder *b, int i);

/* Dropout of this rank's own rows of part i; none in a validation. */
struct mtlm_dropout mtlm_build_dropout(const struct mtlm_builder *b, double p,
                                       int64_t layer,
                                       enum mtlm_dropout_site site, int i);

/* A field of this microbatch's samples: of some rows [rows.n, b]; or the one
 * value of each sample [1, b]. */
struct mtlm_tensor *mtlm_build_batch(const struct mtlm_builder *b,
                                     const char *name, enum mtlm_field field,
                                     struct mtlm_row_range rows);
struct mtlm_tensor *mtlm_build_batch_value(const struct mtlm_builder *b,
                                           const char *name,
                                           enum mtlm_field field);

/* What the labels of part i count in the loss [s_i, b]. */
struct mtlm_tensor *mtlm_build_loss_weights(const struct mtlm_builder *b,
                                            int i);

#endif /* MTLM_GRAPH_BUILDER_H */
