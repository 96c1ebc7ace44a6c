/* Helpers that build the nodes of one virtual stage: calls, tensor-parallel
 * collectives, row ranges and batch fields. */

#include "config.h"

#include <assert.h>

#include "graph/build/builder.h"

void mtlm_build_at(const struct mtlm_builder *b, int64_t layer)
{
    mtlm_graph_at(b->graph, b->list, b->phase, b->stage->stage, layer);
}

struct mtlm_tensor *mtlm_build_call(const struct mtlm_builder *b,
                                    enum mtlm_op_kind kind,
                                    const union mtlm_attr *attr,
                                    struct mtlm_tensor *const in[], int n)
{
    struct mtlm_tensor *given[MTLM_MAX_OPERANDS] = {0};
    const struct mtlm_node *node;

    for (int i = 0; i < n; i++)
        given[i] = in[i];
    node = mtlm_graph_call(b->graph, kind, attr, given);
    return node->operand[n < mtlm_ops[kind]->n_operands ? n : n - 1];
}

struct mtlm_tensor *mtlm_build_param(const struct mtlm_builder *b,
                                     enum mtlm_param kind, int64_t layer)
{
    const struct mtlm_parameter *p =
        mtlm_program_param(b->program, kind, layer, false);

    assert(p);
    return p->weight;
}

static union mtlm_attr tp_group(const struct mtlm_builder *b,
                                enum mtlm_reduce reduction)
{
    return (union mtlm_attr){
        .collective = {MTLM_GROUP_TP, reduction, b->config->layout.tp}};
}

static void reduce_over_tp(const struct mtlm_builder *b,
                           enum mtlm_reduce reduction, struct mtlm_tensor *x)
{
    const union mtlm_attr attr = tp_group(b, reduction);

    if (b->config->layout.tp > 1)
        MTLM_CALL(b, ALL_REDUCE, &attr, x);
}

void mtlm_build_reduce(const struct mtlm_builder *b, struct mtlm_tensor *x)
{
    reduce_over_tp(b, MTLM_REDUCE_SUM, x);
}

void mtlm_build_reduce_max(const struct mtlm_builder *b, struct mtlm_tensor *x)
{
    reduce_over_tp(b, MTLM_REDUCE_MAX, x);
}

struct mtlm_tensor *mtlm_build_sum(const struct mtlm_builder *b,
                                   struct mtlm_tensor *x)
{
    const union mtlm_attr attr = tp_group(b, MTLM_REDUCE_SUM);

    if (mtlm_program_splits_rows(b->config))
        return MTLM_CALL(b, REDUCE_SCATTER, &attr, x);
    reduce_over_tp(b, MTLM_REDUCE_SUM, x);
    return x;
}

struct mtlm_tensor *mtlm_build_copy_to_group(const struct mtlm_builder *b,
                                             struct mtlm_tensor *x)
{
    const union mtlm_attr attr = tp_group(b, MTLM_REDUCE_SUM);
    struct mtlm_tensor *y = x;

    if (mtlm_program_splits_rows(b->config))
        return MTLM_CALL(b, ALL_GATHER, &attr, x);
    if (b->config->layout.tp > 1) {
        y = MTLM_CALL(b, TP_COPY, &attr, x);
        y->alias_of = x;
    }
    return y;
}

struct mtlm_row_range mtlm_build_part(const struct mtlm_builder *b, int i)
{
    struct mtlm_row_range rows = {0, b->rows};

    if (b->rows > 0)
        return rows;
    mtlm_row_parts_get(b->config->model.seq_length, b->n_parts, i, &rows.first,
                       &rows.n);
    return rows;
}

struct mtlm_row_range mtlm_build_own(const struct mtlm_builder *b, int i)
{
    struct mtlm_row_range rows = mtlm_build_part(b, i);

    if (mtlm_program_splits_rows(b->config)) {
        rows.n /= b->config->layout.tp;
        rows.first += rows.n * b->config->layout.tp_rank;
    }
    return rows;
}

struct mtlm_dropout mtlm_build_dropout(const struct mtlm_builder *b, double p,
                                       int64_t layer,
                                       enum mtlm_dropout_site site, int i)
{
    return (struct mtlm_dropout){.p = b->train ? p : 0,
                                 .seed = b->config->seed,
                                 .layer = layer,
                                 .site = site,
                                 .first_row = mtlm_build_own(b, i).first};
}

static struct mtlm_samples *get_source(const struct mtlm_builder *b)
{
    return b->train ? b->config->train : b->config->valid;
}

static struct mtlm_tensor *new_field(const struct mtlm_builder *b,
                                     const char *name, int64_t rows,
                                     enum mtlm_dtype dtype)
{
    return mtlm_graph_tensor(b->graph, MTLM_STORE_ACTIVATION, name,
                             MTLM_SHAPE(rows, b->config->micro_batch), dtype);
}

static struct mtlm_tensor *new_value(const struct mtlm_builder *b,
                                     const char *name, enum mtlm_field field,
                                     int64_t step)
{
    const union mtlm_attr attr = {
        .batch = {.source = get_source(b), .field = field, .step = step}};

    return MTLM_CALL(
        b, BATCH, &attr,
        mtlm_graph_tensor(b->graph, MTLM_STORE_ACTIVATION, name,
                          MTLM_SHAPE(1, b->config->micro_batch / step),
                          MTLM_I32));
}

struct mtlm_tensor *mtlm_build_batch(const struct mtlm_builder *b,
                                     const char *name, enum mtlm_field field,
                                     struct mtlm_row_range rows)
{
    const union mtlm_attr attr = {.batch = {.source = get_source(b),
                                            .field = field,
                                            .first = rows.first}};

    return MTLM_CALL(b, BATCH, &attr, new_field(b, name, rows.n, MTLM_I32));
}

struct mtlm_tensor *mtlm_build_batch_value(const struct mtlm_builder *b,
                                           const char *name,
                                           enum mtlm_field field)
{
    return new_value(b, name, field, 1);
}

struct mtlm_tensor *mtlm_build_question_value(const struct mtlm_builder *b,
                                              const char *name,
                                              enum mtlm_field field)
{
    return new_value(b, name, field, mtlm_model_choices(&b->config->model));
}

struct mtlm_tensor *mtlm_build_loss_weights(const struct mtlm_builder *b, int i)
{
    const struct mtlm_row_range rows = mtlm_build_part(b, i);
    const union mtlm_attr attr = {
        .batch = {.source = get_source(b),
                  .field = MTLM_FIELD_LOSS_MASK,
                  .first = rows.first,
                  .seq_length = b->config->model.seq_length,
                  .whole =
                      !b->train && b->config->measure != MTLM_MEASURE_MEANS}};

    return MTLM_CALL(b, LOSS_WEIGHTS, &attr,
                     new_field(b, "loss weights", rows.n, MTLM_REAL));
}
