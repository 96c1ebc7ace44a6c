#ifndef MTLM_GRAPH_BUILDER_H
#define MTLM_GRAPH_BUILDER_H

/* What the files that build a virtual stage share: layers.c, embedding_head.c
 * and stage.c. */

#include "graph/build/program.h"
#include "graph/build/rows.h"

/* A virtual stage under construction.  All pointers are borrowed. */
struct mtlm_builder {
    struct mtlm_program *program;
    struct mtlm_graph *graph;
    const struct mtlm_program_config *config;
    struct mtlm_stage *stage;
    struct mtlm_list *list; /* destination of new nodes */
    enum mtlm_phase phase;
    bool train; /* training: dropout is on */
    int n_parts;
    struct mtlm_tensor *lengths; /* [1, b]: tokens before the padding */
};

/* Makes the following calls belong to layer; -1: to no layer. */
void mtlm_build_at(const struct mtlm_builder *b, int64_t layer);

/* Appends a call of kind on the first n operands; the call makes the remaining
 * operands.  Returns the first operand that the call makes, or the last given
 * operand if the call makes none. */
struct mtlm_tensor *mtlm_build_call(const struct mtlm_builder *b,
                                    enum mtlm_op_kind kind,
                                    const union mtlm_attr *attr,
                                    struct mtlm_tensor *const in[], int n);

/* Appends a call of MTLM_OP_<OP> with the listed operands; see
 * mtlm_build_call(). */
#define MTLM_CALL(b, OP, attr, ...)                                            \
    mtlm_build_call(b, MTLM_OP_##OP, attr,                                     \
                    (struct mtlm_tensor *[]){__VA_ARGS__},                     \
                    sizeof((struct mtlm_tensor *[]){__VA_ARGS__})              \
                        / sizeof(struct mtlm_tensor *))

/* Returns the weight of this stage; the weight must exist. */
struct mtlm_tensor *mtlm_build_param(const struct mtlm_builder *b,
                                     enum mtlm_param kind, int64_t layer);

/* Sums the partial results of the tensor-parallel group in place. */
void mtlm_build_reduce(const struct mtlm_builder *b, struct mtlm_tensor *x);

/* Takes the maximum over the tensor-parallel group in place. */
void mtlm_build_reduce_max(const struct mtlm_builder *b, struct mtlm_tensor *x);

/* Megatron-LM's operator g: returns the sum of x [s_i, b, h] over the
 * tensor-parallel group.
 *
 * Tensor parallelism does not split layernorm, dropout and residual additions:
 * every rank of the group computes all rows.  With sequence parallelism (arXiv
 * 2205.05198, section 4.2.2) each rank computes its own rows: the tp_rank-th n
 * / tp of a part of n rows.  The sum then returns this rank's own rows only. */
struct mtlm_tensor *mtlm_build_sum(const struct mtlm_builder *b,
                                   struct mtlm_tensor *x);

/* Megatron-LM's operator f: returns all rows of x for every rank of the group.
 * The gradient of x is the sum of the ranks' gradients. */
struct mtlm_tensor *mtlm_build_copy_to_group(const struct mtlm_builder *b,
                                             struct mtlm_tensor *x);

/* Rows first .. first + n - 1 of a sample. */
struct mtlm_row_range {
    int64_t first, n;
};

/* Returns the rows of part i. */
struct mtlm_row_range mtlm_build_part(const struct mtlm_builder *b, int i);

/* Returns this rank's own rows of part i. */
struct mtlm_row_range mtlm_build_own(const struct mtlm_builder *b, int i);

/* Returns the dropout attributes of this rank's own rows of part i; no dropout
 * in a validation. */
struct mtlm_dropout mtlm_build_dropout(const struct mtlm_builder *b, double p,
                                       int64_t layer,
                                       enum mtlm_dropout_site site, int i);

/* Returns a field of the microbatch's samples for some rows: [rows.n, b]. */
struct mtlm_tensor *mtlm_build_batch(const struct mtlm_builder *b,
                                     const char *name, enum mtlm_field field,
                                     struct mtlm_row_range rows);

/* Returns a field with one value per sample: [1, b]. */
struct mtlm_tensor *mtlm_build_batch_value(const struct mtlm_builder *b,
                                           const char *name,
                                           enum mtlm_field field);

/* Returns the loss weights of the labels of part i: [s_i, b]. */
struct mtlm_tensor *mtlm_build_loss_weights(const struct mtlm_builder *b,
                                            int i);

#endif /* MTLM_GRAPH_BUILDER_H */
