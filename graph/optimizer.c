#include "config.h"

#include "graph/optimizer.h"

static void call(struct mtlm_program *program, enum mtlm_op_kind kind,
                 const union mtlm_attr *attr, struct mtlm_tensor *const given[])
{
    mtlm_graph_call(program->graph, kind, attr, given);
}

#define CALL(program, OP, attr, ...)                                           \
    call(program, MTLM_OP_##OP, attr, (struct mtlm_tensor *[]){__VA_ARGS__})

static const union mtlm_attr world_sum = {
    .collective = {MTLM_GROUP_WORLD, MTLM_REDUCE_SUM}};
static const union mtlm_attr embedding_sum = {
    .collective = {MTLM_GROUP_EMBEDDING, MTLM_REDUCE_SUM}};
static const union mtlm_attr zero = {.fill = {0}};

int64_t mtlm_status_sums(const struct mtlm_program_config *config)
{
    return mtlm_param_numbers(&config->model) * config->layout.tp;
}

static int64_t sum_slot(const struct mtlm_program *program,
                        const struct mtlm_parameter *p)
{
    const struct mtlm_layout *layout = &program->config.layout;

    return p->number * layout->tp + (p->info.split < 0 ? 0 : layout->tp_rank);
}

/* The word embedding is read by the first stage and by the last.  Each sums
 * up its own gradient; here they become one, input side + head side in every
 * layout, so that the layout does not change a bit. */
static void tie_embeddings(struct mtlm_program *program)
{
    struct mtlm_parameter *input =
        mtlm_program_param(program, MTLM_PARAM_WORD, -1, false);
    struct mtlm_parameter *head =
        mtlm_program_param(program, MTLM_PARAM_WORD, -1, true);

    if (input && head && input != head) {
        CALL(program, ADD, NULL, head->grad, input->grad);
        CALL(program, FILL, &zero, head->grad);
    } else if (input && !head) {
        CALL(program, ALL_REDUCE, &embedding_sum, input->grad);
    } else if (head && !input) {
        CALL(program, ALL_REDUCE, &embedding_sum, head->grad);
    }
}

/* Elements of this rank's shard that belong to no token: they are its last
 * ones, and depend on the layout. */
static int64_t padding_of(const struct mtlm_program *program,
                          const struct mtlm_parameter *p)
{
    const int64_t rows = p->weight->shape.dim[0];
    const int64_t used = program->config.model.vocab_size - p->first_row;

    if (p->kind != MTLM_PARAM_WORD && p->kind != MTLM_PARAM_LM_BIAS)
        return 0;
    return used >= rows ? 0
                        : (rows - (used > 0 ? used : 0))
                              * (mtlm_shape_elems(&p->weight->shape) / rows);
}

/* The squared sums of the gradients, or of the weights.  They write one tensor,
 * so they run in this order: from the end of the model, where gradients are
 * complete first. */
static void write_sums(struct mtlm_program *program, bool gradients,
                       struct mtlm_tensor *sums)
{
    CALL(program, ZERO, NULL, sums);
    for (int i = program->n_params - 1; i >= 0; i--) {
        const struct mtlm_parameter *p = &program->param[i];
        const union mtlm_attr slot = {
            .status = {.slot = sum_slot(program, p),
                       .padding = padding_of(program, p)}};

        if (p->counted)
            CALL(program, SQUARE_SUM, &slot, gradients ? p->grad : p->weight,
                 sums);
    }
}

static void count_zeros(struct mtlm_program *program)
{
    const int64_t slot = mtlm_status_sums(&program->config) + MTLM_STATUS_ZEROS;

    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];
        const union mtlm_attr attr = {
            .status = {.slot = slot, .padding = padding_of(program, p)}};

        if (p->counted)
            CALL(program, COUNT_ZEROS, &attr, p->grad, program->status);
    }
}

static void write_status(struct mtlm_program *program)
{
    const int64_t sums = mtlm_status_sums(&program->config);
    union mtlm_attr slot = {.status = {0, 1}};

    write_sums(program, true, program->status);
    if (program->config.count_zeros)
        count_zeros(program);
    if (program->loss) {
        /* The ranks of a tensor-parallel group have the same loss. */
        slot.status.slot = sums + MTLM_STATUS_LOSS;
        slot.status.factor = program->config.layout.tp_rank == 0;
        CALL(program, PUBLISH, &slot, program->loss, program->status);
    }
    slot.status.slot = sums + MTLM_STATUS_STOP;
    CALL(program, FLAGS, &slot, program->status);
    if (mtlm_layout_ranks(&program->config.layout) > 1)
        CALL(program, ALL_REDUCE, &world_sum, program->status);
}

static void measure_weights(struct mtlm_program *program)
{
    write_sums(program, false, program->params_sums);
    if (mtlm_layout_ranks(&program->config.layout) > 1)
        CALL(program, ALL_REDUCE, &world_sum, program->params_sums);
    CALL(program, NORM, NULL, program->params_sums, program->params_norm);
}

static bool owns_moments(const struct mtlm_parameter *p)
{
    return p->m != NULL;
}

void mtlm_optimizer_build(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const union mtlm_attr control = {
        .control = {.schedule = config->schedule,
                    .clip = config->clip,
                    .n_sums = mtlm_status_sums(config),
                    .nan_is_final = !config->skip_nan}};

    mtlm_graph_at(program->graph, &program->tail_list, MTLM_PHASE_OPTIMIZER,
                  mtlm_layout_stage(&config->layout, 0), -1);
    tie_embeddings(program);
    write_status(program);
    CALL(program, CONTROL, &control, program->status, program->control,
         program->report);
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];
        const union mtlm_attr adam = {.adam = {config->beta1, config->beta2,
                                               config->epsilon, p->info.decay}};

        if (owns_moments(p))
            CALL(program, ADAM, &adam, p->grad, program->control, p->weight,
                 p->m, p->v);
    }
    if (config->params_norm)
        measure_weights(program);
}

static void init_param(struct mtlm_program *program,
                       const struct mtlm_parameter *p)
{
    const union mtlm_attr value = {.fill = {.mean = p->info.mean,
                                            .std = p->info.std,
                                            .seed = program->config.seed,
                                            .param = p->number,
                                            .full_cols = p->info.cols,
                                            .first_row = p->first_row,
                                            .first_col = p->first_col}};

    CALL(program, FILL, &zero, p->grad);
    if (!owns_moments(p))
        return;
    CALL(program, FILL, &value, p->weight);
    CALL(program, FILL, &zero, p->m);
    CALL(program, FILL, &zero, p->v);
}

void mtlm_init_build(struct mtlm_program *program)
{
    struct mtlm_tensor *const globals[] = {program->loss, program->control,
                                           program->eval_loss,
                                           program->eval_status};

    mtlm_graph_at(program->graph, &program->init_list, MTLM_PHASE_INIT,
                  mtlm_layout_stage(&program->config.layout, 0), -1);
    for (int i = 0; i < program->n_params; i++)
        init_param(program, &program->param[i]);
    for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
        if (globals[i])
            CALL(program, ZERO, NULL, globals[i]);
}

void mtlm_eval_tail_build(struct mtlm_program *program)
{
    const struct mtlm_layout *layout = &program->config.layout;
    union mtlm_attr slot = {.status = {MTLM_STATUS_LOSS, layout->tp_rank == 0}};

    mtlm_graph_at(program->graph, &program->eval_tail_list, MTLM_PHASE_EVAL,
                  mtlm_layout_stage(layout, 0), -1);
    if (program->eval_loss)
        CALL(program, PUBLISH, &slot, program->eval_loss, program->eval_status);
    if (mtlm_layout_ranks(layout) > 1)
        CALL(program, ALL_REDUCE, &world_sum, program->eval_status);
    CALL(program, EVAL_REPORT, NULL, program->eval_status,
         program->eval_report);
}
