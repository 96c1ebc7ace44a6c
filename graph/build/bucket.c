/* Deals parameters out to buckets, places weights, gradients and moments in
 * memory blocks, and builds the messages that reduce and gather the buckets. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph/build/bucket.h"
#include "graph/build/bundle.h"
#include "graph/build/offload.h"
#include "graph/build/version.h"
#include "runtime/base/round_up.h"

/* Tensors and shards begin at multiples of ALIGN elements: a cache line in
 * fp32, half a line of 16-bit weights. */
enum { ALIGN = 64 / sizeof(mtlm_real) };

bool mtlm_buckets_sharded(const struct mtlm_program_config *config)
{
    return config->distributed_optimizer && config->layout.dp > 1
           && !config->eval_only;
}

/* ---- which parameters ---- */

static bool is_replicated(const struct mtlm_parameter *p)
{
    return p->info.split < 0;
}

static struct mtlm_bucket *new_bucket(struct mtlm_program *program, int chunk)
{
    struct mtlm_bucket *bucket;

    program->bucket = mtlm_realloc(program->bucket, program->n_buckets + 1,
                                   sizeof(*program->bucket));
    bucket = &program->bucket[program->n_buckets++];
    *bucket = (struct mtlm_bucket){
        .chunk = chunk,
        .param = mtlm_calloc(program->n_params, sizeof(*bucket->param))};
    return bucket;
}

/* Returns whether the bucket is full before `next`.  A bucket closes only where
 * a layer begins. */
static bool is_full(const struct mtlm_program *program,
                    const struct mtlm_bucket *bucket,
                    const struct mtlm_parameter *next)
{
    const int64_t most = program->config.bucket_size
                             ? program->config.bucket_size
                             : MTLM_BUCKET_SIZE;
    int64_t sum = 0;

    if (next->layer < 0 || bucket->n == 0
        || next->layer == program->param[bucket->param[bucket->n - 1]].layer)
        return false;
    for (int i = 0; i < bucket->n; i++)
        sum += mtlm_tensor_elems(program->param[bucket->param[i]].weight);
    return sum >= most;
}

/* Deals the parameters [first, end) of one chunk out to new buckets, in the
 * order of the model.  A word embedding, the first or the last of them, has its
 * own bucket. */
static void deal_out(struct mtlm_program *program, int chunk, int first,
                     int end)
{
    int open = -1;

    for (int i = first; i < end; i++) {
        const struct mtlm_parameter *p = &program->param[i];
        struct mtlm_bucket *bucket;

        if (p->kind == MTLM_PARAM_WORD) {
            bucket = new_bucket(program, chunk);
        } else {
            if (open < 0 || is_full(program, &program->bucket[open], p)) {
                new_bucket(program, chunk);
                open = program->n_buckets - 1;
            }
            bucket = &program->bucket[open];
        }
        bucket->param[bucket->n++] = i;
    }
}

static void replicated_first(const struct mtlm_program *program,
                             struct mtlm_bucket *bucket)
{
    int *sorted = mtlm_calloc(bucket->n, sizeof(*sorted)), n = 0;

    for (int split = 0; split < 2; split++) {
        for (int i = 0; i < bucket->n; i++)
            if (is_replicated(&program->param[bucket->param[i]]) != split)
                sorted[n++] = bucket->param[i];
        if (split == 0)
            bucket->n_replicated = n;
    }
    free(bucket->param);
    bucket->param = sorted;
}

/* ---- where they lie ---- */

/* Adds the versions behind each other.  A block of weights may hold none. */
static void place_versions(struct mtlm_program *program,
                           const struct mtlm_bucket *bucket)
{
    const size_t size = mtlm_dtype_bytes(program->config.value);

    for (int i = 0; i < bucket->n; i++) {
        const struct mtlm_parameter *p = &program->param[bucket->param[i]];

        if (!p->weight->alias_of)
            mtlm_version_place(program, p->weight, bucket->elems * size);
        if (p->grad)
            mtlm_version_place(program, p->grad,
                               bucket->elems * sizeof(mtlm_real));
    }
}

static void place_bucket(struct mtlm_program *program,
                         struct mtlm_bucket *bucket)
{
    struct mtlm_graph *graph = program->graph;
    const int weights = mtlm_graph_block(graph),
              grads = mtlm_graph_block(graph);
    const size_t size = mtlm_dtype_bytes(program->config.value);

    for (int i = 0; i < bucket->n; i++) {
        const struct mtlm_parameter *p = &program->param[bucket->param[i]];

        if (!p->weight->alias_of)
            mtlm_graph_place(graph, p->weight, weights, bucket->elems * size);
        if (p->grad)
            mtlm_graph_place(graph, p->grad, grads,
                             bucket->elems * sizeof(mtlm_real));
        bucket->elems += mtlm_round_up(mtlm_tensor_elems(p->weight), ALIGN);
    }
    bucket->elems = mtlm_round_up(bucket->elems,
                                  (int64_t) ALIGN * program->config.layout.dp);
    /* A message covers the padding too. */
    if (graph->block[weights] > 0)
        mtlm_graph_widen(graph, weights, bucket->elems * size);
    if (!program->config.eval_only)
        mtlm_graph_widen(graph, grads, bucket->elems * sizeof(mtlm_real));
    if (mtlm_version_count(&program->config) > 1)
        place_versions(program, bucket);
}

static struct mtlm_tensor *make_beside(struct mtlm_program *program,
                                       const struct mtlm_parameter *p,
                                       enum mtlm_storage storage,
                                       const char *suffix,
                                       struct mtlm_shape shape)
{
    char name[192];

    snprintf(name, sizeof(name), "%s%s", p->weight->name, suffix);
    return mtlm_graph_tensor(program->graph, storage, name, shape, MTLM_REAL);
}

/* Returns a new moment or master of the parameter in block; -1: in no block. */
static struct mtlm_tensor *add_moment(struct mtlm_program *program,
                                      const struct mtlm_parameter *p,
                                      const char *suffix, int block)
{
    struct mtlm_tensor *t =
        make_beside(program, p, MTLM_STORE_MOMENT, suffix, p->reduced->shape);

    if (block >= 0)
        mtlm_graph_place(program->graph, t, block,
                         mtlm_round_up(program->graph->block[block],
                                       ALIGN * sizeof(mtlm_real)));
    return t;
}

/* Puts moments and masters into a block, allocated when the run starts.  Those
 * that live on a disk get slots later. */
static void add_moments(struct mtlm_program *program,
                        const struct mtlm_bucket *bucket)
{
    const int block = program->config.offload == MTLM_OFFLOAD_NONE
                          ? mtlm_graph_block(program->graph)
                          : -1;

    for (int i = 0; i < bucket->n; i++) {
        struct mtlm_parameter *p = &program->param[bucket->param[i]];

        /* A weight that aliases another one is stepped there. */
        if (p->weight->alias_of)
            continue;
        if (p->reduced) {
            p->m = add_moment(program, p, ".m", block);
            p->v = add_moment(program, p, ".v", block);
        }
        if (p->reduced && p->weight->dtype != MTLM_REAL)
            p->master = add_moment(program, p, ".master", block);
        /* Whole on each rank, as the weight is. */
        if (mtlm_version_count(&program->config) > 1)
            p->before = mtlm_version_before(program, p->weight);
    }
}

/* Makes this rank step whole parameters, if gradients exist. */
static void keep_whole(struct mtlm_program *program,
                       const struct mtlm_bucket *bucket)
{
    for (int i = 0; i < bucket->n; i++)
        program->param[bucket->param[i]].reduced =
            program->param[bucket->param[i]].grad;
}

/* Makes tensor a view of the block of gradients, from offset (bytes) on; of
 * each version of the block. */
static void make_view(struct mtlm_program *program,
                      const struct mtlm_bucket *bucket,
                      struct mtlm_tensor *tensor, int64_t offset)
{
    tensor->view = true;
    mtlm_graph_place(program->graph, tensor,
                     program->param[bucket->param[0]].grad->block, offset);
    mtlm_version_add(program, tensor);
    if (mtlm_version_count(&program->config) > 1)
        mtlm_version_place(program, tensor, bucket->elems * sizeof(mtlm_real));
}

/* Makes this rank step its shard; the reduced pieces lie where the gradients
 * lie. */
static void keep_shard(struct mtlm_program *program, struct mtlm_bucket *bucket)
{
    const struct mtlm_layout *layout = &program->config.layout;
    const int64_t shard = bucket->elems / layout->dp;
    const int64_t begin = shard * layout->dp_rank;
    bool any = false;

    for (int i = 0; i < bucket->n; i++) {
        struct mtlm_parameter *p = &program->param[bucket->param[i]];
        const int64_t at = p->grad->offset / sizeof(mtlm_real) - begin;
        const int64_t first = at < 0 ? -at : 0;
        const int64_t end = at + mtlm_tensor_elems(p->grad) > shard
                                ? shard - at
                                : mtlm_tensor_elems(p->grad);

        if (end <= first)
            continue;
        p->first = first;
        p->reduced = make_beside(program, p, MTLM_STORE_GRAD, ".grad.shard",
                                 MTLM_SHAPE(end - first));
        make_view(program, bucket, p->reduced,
                  p->grad->offset + first * sizeof(mtlm_real));
        any = true;
    }
    if (!any) {
        bucket->idle =
            mtlm_graph_tensor(program->graph, MTLM_STORE_GRAD, "padding",
                              MTLM_SHAPE(shard), MTLM_REAL);
        make_view(program, bucket, bucket->idle, begin * sizeof(mtlm_real));
    }
}

static int64_t stepped_elems(const struct mtlm_program *program)
{
    int64_t sum = 0;

    for (int i = 0; i < program->n_params; i++)
        if (program->param[i].m)
            sum += mtlm_tensor_elems(program->param[i].m);
    return sum;
}

void mtlm_buckets_create(struct mtlm_program *program)
{
    const struct mtlm_layout *layout = &program->config.layout;
    int end = 0;

    for (int c = 0; c < layout->virtual_stages; c++) {
        const int stage = program->stage[c].stage, first = end;

        while (end < program->n_params
               && program->param[end].weight->stage == stage)
            end++;
        deal_out(program, c, first, end);
    }
    for (int i = 0; i < program->n_buckets; i++) {
        struct mtlm_bucket *bucket = &program->bucket[i];

        program->graph->stage = program->stage[bucket->chunk].stage;
        replicated_first(program, bucket);
        place_bucket(program, bucket);
        if (mtlm_buckets_sharded(&program->config))
            keep_shard(program, bucket);
        else
            keep_whole(program, bucket);
        add_moments(program, bucket);
    }
    if (program->config.offload != MTLM_OFFLOAD_NONE)
        mtlm_offload_create(program);
    program->bundle_elems = mtlm_bundle_elems(stepped_elems(program));
}

/* ---- messages ---- */

static struct mtlm_node *add_message(struct mtlm_program *program,
                                     enum mtlm_op_kind kind,
                                     enum mtlm_group group, int64_t count)
{
    const struct mtlm_layout *layout = &program->config.layout;
    const union mtlm_attr attr = {
        .collective = {.group = group,
                       .reduce = MTLM_REDUCE_SUM,
                       .size = group == MTLM_GROUP_TP ? layout->tp : layout->dp,
                       .count = count}};

    return mtlm_graph_call(program->graph, kind, &attr, NULL);
}

/* Adds the gradients of the first n parameters to node's uses. */
static void use_gradients(const struct mtlm_program *program,
                          const struct mtlm_bucket *bucket, int n,
                          enum mtlm_access access, struct mtlm_node *node)
{
    for (int i = 0; i < n; i++)
        mtlm_node_add_use(node, program->param[bucket->param[i]].grad, access,
                          false);
}

/* Returns the elements from the begin of the block to the end of the first n
 * gradients. */
static int64_t count_span(const struct mtlm_program *program,
                          const struct mtlm_bucket *bucket, int n)
{
    const struct mtlm_tensor *first = program->param[bucket->param[0]].grad;
    const struct mtlm_tensor *last = program->param[bucket->param[n - 1]].grad;

    return (last->offset - first->offset) / (int64_t) sizeof(mtlm_real)
           + mtlm_tensor_elems(last);
}

static void all_reduce(struct mtlm_program *program,
                       const struct mtlm_bucket *bucket, enum mtlm_group group,
                       int n)
{
    struct mtlm_node *node = add_message(program, MTLM_OP_BUCKET_ALL_REDUCE,
                                         group, count_span(program, bucket, n));

    use_gradients(program, bucket, n, MTLM_RW, node);
}

/* Reduces in place: this rank's sums overwrite its shard of the gradients.  The
 * optimizer clears gradients that overlap the shard, after their use.  The
 * others are cleared here.  All gradients must be zero when the next iteration
 * adds to them. */
static void reduce_scatter(struct mtlm_program *program,
                           const struct mtlm_bucket *bucket)
{
    static const union mtlm_attr zero = {.fill = {0}};
    struct mtlm_bundle zeros = {.program = program, .kind = MTLM_OP_FILL};
    struct mtlm_node *node = add_message(program, MTLM_OP_BUCKET_REDUCE_SCATTER,
                                         MTLM_GROUP_DP, bucket->elems);

    use_gradients(program, bucket, bucket->n, MTLM_R, node);
    for (int i = 0; i < bucket->n; i++)
        if (program->param[bucket->param[i]].reduced)
            mtlm_node_add_use(node, program->param[bucket->param[i]].reduced,
                              MTLM_W, false);
    if (bucket->idle)
        mtlm_node_add_use(node, bucket->idle, MTLM_W, false);
    for (int i = 0; i < bucket->n; i++)
        if (!program->param[bucket->param[i]].reduced)
            mtlm_bundle_add(&zeros, &zero,
                            &program->param[bucket->param[i]].grad);
}

static void reduce_bucket(struct mtlm_program *program,
                          const struct mtlm_bucket *bucket)
{
    const struct mtlm_program_config *config = &program->config;

    if (config->sequence_parallel && config->layout.tp > 1
        && bucket->n_replicated > 0)
        all_reduce(program, bucket, MTLM_GROUP_TP, bucket->n_replicated);
    if (mtlm_buckets_sharded(config))
        reduce_scatter(program, bucket);
    else if (config->layout.dp > 1)
        all_reduce(program, bucket, MTLM_GROUP_DP, bucket->n);
}

/* In reverse order: gradients are complete first at the end of the model. */
void mtlm_buckets_build_reduce(struct mtlm_program *program, int chunk)
{
    struct mtlm_stage *stage = &program->stage[chunk];

    mtlm_graph_at(program->graph, &stage->reduce, MTLM_PHASE_OPTIMIZER,
                  stage->stage, -1);
    for (int i = program->n_buckets - 1; i >= 0; i--)
        if (program->bucket[i].chunk == chunk)
            reduce_bucket(program, &program->bucket[i]);
}

void mtlm_bucket_build_gather(struct mtlm_program *program,
                              const struct mtlm_bucket *bucket)
{
    struct mtlm_node *node;

    if (!mtlm_buckets_sharded(&program->config)
        || program->param[bucket->param[0]].weight->alias_of)
        return;
    node = add_message(program, MTLM_OP_BUCKET_ALL_GATHER, MTLM_GROUP_DP,
                       bucket->elems / program->config.layout.dp);
    for (int i = 0; i < bucket->n; i++)
        mtlm_node_add_use(node, program->param[bucket->param[i]].weight,
                          MTLM_RW, false);
}
