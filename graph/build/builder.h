#ifndef MTLM_GRAPH_BUILDER_H
#define MTLM_GRAPH_BUILDER_H

/* Builds nodes of a virtual stage: calls, tensor-parallel collectives, fields
 * of samples.  The files of layers, heads and stages share these functions. */

#include "graph/build/program.h"
#include "graph/build/row_parts.h"

/* A virtual stage under construction.  All pointers are borrowed. */
struct mtlm_builder {
    struct mtlm_program *program;
    struct mtlm_graph *graph;
    const struct mtlm_program_config *config;
    struct mtlm_stage *stage;
    struct mtlm_list *list; /* destination of new nodes */
    enum mtlm_phase phase;
    bool train;                  /* training: dropout is on */
    int n_parts;                 /* parts of a sample (row_parts.h) */
    struct mtlm_tensor *lengths; /* int32 [1, b]: tokens before the padding */
    /* Generation: rows of a submission, else 0; the token of a row, NULL: the
     * prompt has the tokens. */
    int64_t rows;
    struct mtlm_tensor *token;
};

/* Makes the following calls append to b->list, as nodes of b->phase, b->stage
 * and layer; layer -1: none. */
void mtlm_build_at(const struct mtlm_builder *b, int64_t layer);

/* Appends a call of kind.  in [n]: the first n operands.  The graph creates and
 * owns the other operands.  Returns the first created operand, or in[n - 1] if
 * there is none. */
struct mtlm_tensor *mtlm_build_call(const struct mtlm_builder *b,
                                    enum mtlm_op_kind kind,
                                    const union mtlm_attr *attr,
                                    struct mtlm_tensor *const in[], int n);

/* mtlm_build_call() of MTLM_OP_<OP> on the listed operands. */
#define MTLM_CALL(b, OP, attr, ...)                                            \
    mtlm_build_call(b, MTLM_OP_##OP, attr,                                     \
                    (struct mtlm_tensor *[]){__VA_ARGS__},                     \
                    sizeof((struct mtlm_tensor *[]){__VA_ARGS__})              \
                        / sizeof(struct mtlm_tensor *))

/* Returns the weight, which this rank must hold.  layer -1: outside the
 * layers. */
struct mtlm_tensor *mtlm_build_param(const struct mtlm_builder *b,
                                     enum mtlm_param kind, int64_t layer);

/* Sums x over the tensor-parallel group in place.  Does nothing without tensor
 * parallelism. */
void mtlm_build_reduce(const struct mtlm_builder *b, struct mtlm_tensor *x);

/* Takes the maximum of x over the tensor-parallel group in place.  Does nothing
 * without tensor parallelism. */
void mtlm_build_reduce_max(const struct mtlm_builder *b, struct mtlm_tensor *x);

/* Megatron-LM's operator g: returns the sum of x [s_i, b, h] over the
 * tensor-parallel group, in place.
 *
 * Tensor parallelism does not split layernorm, dropout and residual additions:
 * every rank of the group computes all rows.  Sequence parallelism does (arXiv
 * 2205.05198, section 4.2.2): each rank computes its own rows.  Rank r owns
 * rows [r n / tp, (r + 1) n / tp) of a part of n rows.
 *
 * With sequence parallelism, returns a new tensor [s_i / tp, b, h]: the sum of
 * this rank's own rows. */
struct mtlm_tensor *mtlm_build_sum(const struct mtlm_builder *b,
                                   struct mtlm_tensor *x);

/* Megatron-LM's operator f: returns all rows of x on every rank of the
 * tensor-parallel group.  Without sequence parallelism, the result aliases x.
 * The gradient of x is the sum of the ranks' gradients of the result. */
struct mtlm_tensor *mtlm_build_copy_to_group(const struct mtlm_builder *b,
                                             struct mtlm_tensor *x);

/* Rows first .. first + n - 1 of a sample. */
struct mtlm_row_range {
    int64_t first, n;
};

/* Returns the rows of part i. */
struct mtlm_row_range mtlm_build_part(const struct mtlm_builder *b, int i);

/* Returns this rank's own rows of part i, see mtlm_build_sum(). */
struct mtlm_row_range mtlm_build_own(const struct mtlm_builder *b, int i);

/* Returns the dropout attributes for this rank's own rows of part i.  p:
 * probability of dropping an element, 0 in a validation. */
struct mtlm_dropout mtlm_build_dropout(const struct mtlm_builder *b, double p,
                                       int64_t layer,
                                       enum mtlm_dropout_site site, int i);

/* Returns a new tensor, int32 [rows.n, b]: a field of the microbatch's samples
 * for some rows.  name: the tensor's name. */
struct mtlm_tensor *mtlm_build_batch(const struct mtlm_builder *b,
                                     const char *name, enum mtlm_field field,
                                     struct mtlm_row_range rows);

/* Returns a new tensor, int32 [1, b]: a field with one value per sample. */
struct mtlm_tensor *mtlm_build_batch_value(const struct mtlm_builder *b,
                                           const char *name,
                                           enum mtlm_field field);

/* Returns a new tensor, int32 [1, b / choices]: such a field, one value per
 * question (mtlm_model_choices()). */
struct mtlm_tensor *mtlm_build_question_value(const struct mtlm_builder *b,
                                              const char *name,
                                              enum mtlm_field field);

/* Returns a new tensor [s_i, b]: the weights of part i's labels in the loss. */
struct mtlm_tensor *mtlm_build_loss_weights(const struct mtlm_builder *b,
                                            int i);

#endif /* MTLM_GRAPH_BUILDER_H */
