/* Builds the nodes after the last microbatch: status vector, control, Adam; and
 * the nodes that initialise parameters. */

#include "config.h"

#include "codelets/control_slots.h"
#include "graph/build/bucket.h"
#include "graph/build/bundle.h"
#include "graph/build/offload.h"
#include "graph/build/optimizer.h"
#include "graph/build/version.h"

static void append_call(struct mtlm_program *program, enum mtlm_op_kind kind,
                        const union mtlm_attr *attr,
                        struct mtlm_tensor *const given[])
{
    mtlm_graph_call(program->graph, kind, attr, given);
}

#define CALL(program, OP, attr, ...)                                           \
    append_call(program, MTLM_OP_##OP, attr,                                   \
                (struct mtlm_tensor *[]){__VA_ARGS__})

static const union mtlm_attr world_sum = {
    .collective = {MTLM_GROUP_WORLD, MTLM_REDUCE_SUM}};
static const union mtlm_attr embedding_sum = {
    .collective = {MTLM_GROUP_EMBEDDING, MTLM_REDUCE_SUM}};
static const union mtlm_attr zero = {.fill = {0}};

int64_t mtlm_optimizer_status_sums(const struct mtlm_program_config *config)
{
    const int shards = mtlm_buckets_sharded(config) ? config->layout.dp : 1;

    return mtlm_param_numbers(&config->model) * config->layout.tp * shards;
}

static int64_t sum_slot(const struct mtlm_program *program,
                        const struct mtlm_parameter *p)
{
    const struct mtlm_layout *layout = &program->config.layout;
    const int64_t slot =
        p->number * layout->tp + (p->info.split < 0 ? 0 : layout->tp_rank);

    return mtlm_buckets_sharded(&program->config)
               ? slot * layout->dp + layout->dp_rank
               : slot;
}

/* Adds the two gradients of the tied word embedding: of the first stage (input)
 * and of the last stage (head).  The head of a task has no embedding.  Both are
 * already summed over data-parallel ranks.  The bits do not depend on the number
 * of stages: two numbers have one sum.  Both stages step the same pieces.  A
 * rank with both stages steps by the head's gradient: most rows of the other
 * are zeros. */
static void tie_embeddings(struct mtlm_program *program)
{
    struct mtlm_parameter *input =
        mtlm_program_param(program, MTLM_PARAM_WORD, -1, false);
    struct mtlm_parameter *head =
        mtlm_program_param(program, MTLM_PARAM_WORD, -1, true);

    if (program->config.model.head != MTLM_HEAD_PRETRAINING
        || !(input ? input : head) || !(input ? input : head)->reduced)
        return;
    if (input && head)
        CALL(program, ADD_CLEAR, NULL, input->reduced, head->reduced);
    else
        CALL(program, ALL_REDUCE, &embedding_sum,
             (input ? input : head)->reduced);
}

/* Returns how many of the elements [first, first + n) of the parameter's shard
 * are padding of the vocabulary.  Padding comes last; its size depends on the
 * layout. */
static int64_t padding_of(const struct mtlm_program *program,
                          const struct mtlm_parameter *p, int64_t first,
                          int64_t n)
{
    const int64_t rows = p->weight->shape.dim[0];
    const int64_t tokens = program->config.model.vocab_size - p->first_row;
    const int64_t used = tokens * (mtlm_tensor_elems(p->weight) / rows) - first;

    if (p->kind != MTLM_PARAM_WORD && p->kind != MTLM_PARAM_LM_BIAS)
        return 0;
    return used >= n ? 0 : used > 0 ? n - used : n;
}

/* Returns whether this rank counts the parameter's gradient, or a piece of the
 * gradient. */
static bool counts_gradient(const struct mtlm_program *program,
                            const struct mtlm_parameter *p)
{
    return p->counted && p->reduced
           && (mtlm_buckets_sharded(&program->config)
               || program->config.layout.dp_rank == 0);
}

/* Adds a call that sums up values in a slot of sums.  values: the parameter's
 * elements from `first` on. */
static void sum_up(struct mtlm_bundle *bundle, const struct mtlm_parameter *p,
                   struct mtlm_tensor *values, int64_t first, int64_t slot,
                   struct mtlm_tensor *sums)
{
    const union mtlm_attr attr = {
        .status = {.slot = slot,
                   .padding = padding_of(bundle->program, p, first,
                                         mtlm_tensor_elems(values))}};

    mtlm_bundle_add(bundle, &attr, (struct mtlm_tensor *[]){values, sums});
}

static void sum_up_gradients(struct mtlm_program *program,
                             const struct mtlm_bucket *bucket)
{
    struct mtlm_bundle squares = {.program = program,
                                  .kind = MTLM_OP_SQUARE_SUM};

    for (int i = bucket->n - 1; i >= 0; i--) {
        const struct mtlm_parameter *p = &program->param[bucket->param[i]];

        if (counts_gradient(program, p))
            sum_up(&squares, p, mtlm_program_summed(program, p)->reduced,
                   p->first, sum_slot(program, p), program->status);
    }
}

static void count_zeros(struct mtlm_program *program,
                        const struct mtlm_bucket *bucket)
{
    const int64_t slot =
        mtlm_optimizer_status_sums(&program->config) + MTLM_STATUS_ZEROS;
    struct mtlm_bundle zeros = {.program = program,
                                .kind = MTLM_OP_COUNT_ZEROS};

    for (int i = 0; i < bucket->n; i++) {
        const struct mtlm_parameter *p = &program->param[bucket->param[i]];

        if (counts_gradient(program, p))
            sum_up(&zeros, p, mtlm_program_summed(program, p)->reduced,
                   p->first, slot, program->status);
    }
}

static void measure_bucket(struct mtlm_program *program,
                           const struct mtlm_bucket *bucket)
{
    sum_up_gradients(program, bucket);
    if (program->config.count_zeros)
        count_zeros(program, bucket);
}

void mtlm_optimizer_build_sums(struct mtlm_program *program, int chunk)
{
    mtlm_graph_at(program->graph, &program->stage[chunk].reduce,
                  MTLM_PHASE_OPTIMIZER, program->stage[chunk].stage, -1);
    for (int i = program->n_buckets - 1; i >= 0; i--)
        if (program->bucket[i].chunk == chunk
            && mtlm_offload_has_gradients(program, &program->bucket[i]))
            measure_bucket(program, &program->bucket[i]);
}

/* All calls write one tensor and so run in program order.  The end of the model
 * comes first, where gradients are complete first.  Offloaded gradients have
 * their sums already. */
static void measure_gradients(struct mtlm_program *program)
{
    if (!mtlm_offload_streams(&program->config))
        CALL(program, ZERO, NULL, program->status);
    for (int i = program->n_buckets - 1; i >= 0; i--)
        if (!mtlm_offload_has_gradients(program, &program->bucket[i]))
            measure_bucket(program, &program->bucket[i]);
}

static void write_status(struct mtlm_program *program)
{
    const int64_t sums = mtlm_optimizer_status_sums(&program->config);
    union mtlm_attr slot = {.status = {0, 1}};

    measure_gradients(program);
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

/* Adds the square sum of a weight, of its master if it has one; squares: a
 * bundle of such sums. */
static void measure_weight(struct mtlm_bundle *squares,
                           const struct mtlm_parameter *p)
{
    struct mtlm_program *program = squares->program;
    const bool masters = program->config.value != MTLM_REAL;

    if (masters && p->master && counts_gradient(program, p))
        sum_up(squares, p, p->master, p->first, sum_slot(program, p),
               program->params_sums);
    else if (!masters && p->counted && program->config.layout.dp_rank == 0)
        sum_up(squares, p, p->weight, 0, sum_slot(program, p),
               program->params_sums);
}

/* Sums up the squares of the weights; of 16-bit weights, of their masters.
 */
static void measure_weights(struct mtlm_program *program)
{
    struct mtlm_bundle squares = {.program = program,
                                  .kind = MTLM_OP_SQUARE_SUM};

    CALL(program, ZERO, NULL, program->params_sums);
    for (int i = program->n_params - 1; i >= 0; i--)
        measure_weight(&squares, &program->param[i]);
    if (mtlm_layout_ranks(&program->config.layout) > 1)
        CALL(program, ALL_REDUCE, &world_sum, program->params_sums);
    CALL(program, NORM, NULL, program->params_sums, program->params_norm);
}

/* Clears the whole gradients after the last use of their reduced pieces. */
static void clear_gradients(struct mtlm_program *program,
                            const struct mtlm_bucket *bucket)
{
    struct mtlm_bundle zeros = {.program = program, .kind = MTLM_OP_FILL};

    for (int i = 0; i < bucket->n; i++) {
        const struct mtlm_parameter *p = &program->param[bucket->param[i]];

        if (!p->reduced || p->reduced == p->grad)
            continue;
        mtlm_bundle_add(&zeros, &zero, &p->grad);
        mtlm_node_add_use(zeros.node, p->reduced, MTLM_W, true);
    }
}

#define STEP(bundle, attr, ...)                                                \
    mtlm_bundle_add(bundle, attr, (struct mtlm_tensor *[]){__VA_ARGS__})

/* Returns the operation that steps the parameters. */
static enum mtlm_op_kind step_kind(const struct mtlm_program_config *config)
{
    return config->value != MTLM_REAL       ? MTLM_OP_ADAM_MASTER
           : mtlm_version_count(config) > 1 ? MTLM_OP_ADAM_VERSION
                                            : MTLM_OP_ADAM;
}

/* Steps the parameters of a bucket, then gathers the new weights.  A layer of
 * the next iteration waits for its own bucket only. */
static void step_bucket(struct mtlm_program *program,
                        const struct mtlm_bucket *bucket)
{
    const struct mtlm_program_config *config = &program->config;
    struct mtlm_bundle steps = {.program = program, .kind = step_kind(config)};

    for (int i = 0; i < bucket->n; i++) {
        const struct mtlm_parameter *p = &program->param[bucket->param[i]];
        const struct mtlm_parameter *summed = mtlm_program_summed(program, p);
        const union mtlm_attr adam = {.adam = {.beta1 = config->beta1,
                                               .beta2 = config->beta2,
                                               .epsilon = config->epsilon,
                                               .decay = p->info.decay,
                                               .first = p->first,
                                               .keeps_g = summed->grad_is_set}};

        if (!p->m)
            continue;
        if (p->master || p->before)
            STEP(&steps, &adam, summed->reduced, program->control,
                 p->master ? p->master : p->before, p->m, p->v, p->weight);
        else
            STEP(&steps, &adam, summed->reduced, program->control, p->weight,
                 p->m, p->v);
    }
    clear_gradients(program, bucket);
    mtlm_bucket_build_gather(program, bucket);
}

void mtlm_optimizer_build(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const union mtlm_attr control = {
        .control = {.lr_schedule = config->lr_schedule,
                    .clip = config->clip,
                    .n_sums = mtlm_optimizer_status_sums(config),
                    .nan_is_final = !config->skip_nan,
                    .scale = config->loss_scale}};

    mtlm_graph_at(program->graph, &program->tail_list, MTLM_PHASE_OPTIMIZER,
                  mtlm_layout_stage(&config->layout, 0), -1);
    tie_embeddings(program);
    write_status(program);
    CALL(program, CONTROL, &control, program->status, program->control,
         program->report);
    for (int i = 0; i < program->n_buckets; i++)
        step_bucket(program, &program->bucket[i]);
    if (mtlm_offload_streams(config)) /* before sums of the next iteration */
        CALL(program, ZERO, NULL, program->status);
    if (config->params_norm)
        measure_weights(program);
}

/* Returns the initial values of a weight, of all its shard. */
static union mtlm_attr values_of(const struct mtlm_program *program,
                                 const struct mtlm_parameter *p)
{
    return (union mtlm_attr){.fill = {.mean = p->info.mean,
                                      .std = p->info.std,
                                      .seed = program->config.seed,
                                      .param = p->number,
                                      .full_cols = p->info.cols,
                                      .first_row = p->first_row,
                                      .first_col = p->first_col}};
}

/* Clears a tensor that stays in memory.  Pieces of a file that nobody wrote
 * read as zeros. */
static void clear_tensor(struct mtlm_program *program,
                         struct mtlm_tensor *tensor)
{
    if (tensor && tensor->unit < 0)
        CALL(program, FILL, &zero, tensor);
}

/* Weight and master get the same random numbers; the weight is rounded. */
static void init_param(struct mtlm_program *program,
                       const struct mtlm_parameter *p)
{
    const union mtlm_attr value = values_of(program, p);
    union mtlm_attr piece = value;

    piece.fill.first = p->first;
    piece.fill.cols = mtlm_shape_cols(&p->weight->shape);
    clear_tensor(program, p->grad);
    if (!p->weight->alias_of)
        CALL(program, FILL, &value, p->weight);
    if (p->master)
        CALL(program, FILL, &piece, p->master);
    clear_tensor(program, p->m);
    clear_tensor(program, p->v);
}

void mtlm_optimizer_build_init(struct mtlm_program *program)
{
    const union mtlm_attr control = {
        .control = {.scale = program->config.loss_scale}};
    const bool sums = mtlm_offload_streams(&program->config);
    struct mtlm_tensor *const globals[] = {program->loss, program->eval_loss,
                                           program->eval_status,
                                           sums ? program->status : NULL};

    mtlm_graph_at(program->graph, &program->init_list, MTLM_PHASE_INIT,
                  mtlm_layout_stage(&program->config.layout, 0), -1);
    for (int i = 0; i < program->n_params; i++)
        init_param(program, &program->param[i]);
    for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
        if (globals[i])
            CALL(program, ZERO, NULL, globals[i]);
    CALL(program, CONTROL_INIT, &control, program->control);
    if (program->pass_control != program->control)
        CALL(program, CONTROL_INIT, &control, program->pass_control);
}

void mtlm_optimizer_build_eval_tail(struct mtlm_program *program)
{
    const struct mtlm_layout *layout = &program->config.layout;
    union mtlm_attr slot = {.status = {MTLM_STATUS_LOSS, layout->tp_rank == 0}};

    mtlm_graph_at(program->graph, &program->eval_tail_list, MTLM_PHASE_EVAL,
                  mtlm_layout_stage(layout, 0), -1);
    if (program->eval_loss)
        CALL(program, PUBLISH, &slot, program->eval_loss, program->eval_status);
    slot.status.slot = MTLM_STATUS_STOP;
    CALL(program, FLAGS, &slot, program->eval_status);
    if (mtlm_layout_ranks(layout) > 1)
        CALL(program, ALL_REDUCE, &world_sum, program->eval_status);
    CALL(program, EVAL_REPORT, NULL, program->eval_status,
         program->eval_report);
}
