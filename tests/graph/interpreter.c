#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/value16.h"
#include "tests/graph/interpreter.h"

struct mail {
    int from, to;
    int64_t tag;
    void *data;
    struct mail *next;
};

struct rank {
    struct mtlm_program *program;
    void ***memory; /* [tensor id][slot] */
    char **block;   /* [graph->n_blocks] */
    const struct mtlm_items *items;
    int at;       /* next item */
    bool waiting; /* in the collective at `at` */
};

struct interpreter {
    int n;
    struct rank *rank;
    struct mail *mail;
    struct mtlm_scratch scratch, wide;
    int64_t iteration, first_microbatch, first_sample;
    int64_t left; /* microbatches of the pass; 0: all that it has */
    bool stop_before_step, forward_only;
};

struct interpreter *interpreter_create(const struct mtlm_program_config *config)
{
    struct interpreter *in = mtlm_calloc(1, sizeof(*in));

    in->n = mtlm_layout_ranks(&config->layout);
    in->rank = mtlm_calloc(in->n, sizeof(*in->rank));
    for (int r = 0; r < in->n; r++) {
        struct mtlm_program_config mine = *config;
        struct rank *rank = &in->rank[r];
        const struct mtlm_graph *graph;

        mtlm_layout_place(&mine.layout, r);
        rank->program = mtlm_program_create(&mine);
        graph = rank->program->graph;
        rank->memory = mtlm_calloc(graph->n_tensors, sizeof(*rank->memory));
        rank->block = mtlm_calloc(graph->n_blocks, sizeof(*rank->block));
        for (int i = 0; i < graph->n_blocks; i++)
            rank->block[i] = mtlm_calloc(1, graph->block[i]);
        for (int i = 0; i < graph->n_tensors; i++) {
            const struct mtlm_tensor *t = graph->tensor[i];

            if (!mtlm_tensor_is_owner(t))
                continue;
            rank->memory[i] = mtlm_calloc(t->slots, sizeof(void *));
            for (int s = 0; s < t->slots; s++)
                rank->memory[i][s] = t->block < 0
                                         ? mtlm_calloc(1, mtlm_tensor_bytes(t))
                                         : rank->block[t->block] + t->offset;
        }
    }
    return in;
}

void interpreter_destroy(struct interpreter *in)
{
    for (int r = 0; r < in->n; r++) {
        struct rank *rank = &in->rank[r];
        const struct mtlm_graph *graph = rank->program->graph;

        for (int i = 0; i < graph->n_tensors; i++) {
            const bool own = rank->memory[i] && graph->tensor[i]->block < 0;

            for (int s = 0; own && s < graph->tensor[i]->slots; s++)
                free(rank->memory[i][s]);
            free(rank->memory[i]);
        }
        for (int i = 0; i < graph->n_blocks; i++)
            free(rank->block[i]);
        free(rank->block);
        free(rank->memory);
        mtlm_program_destroy(rank->program);
    }
    free(in->rank);
    mtlm_scratch_free(&in->scratch);
    mtlm_scratch_free(&in->wide);
    free(in);
}

const struct mtlm_program *interpreter_program(const struct interpreter *in,
                                               int rank)
{
    return in->rank[rank].program;
}

static void *slot_of(const struct rank *rank, struct mtlm_tensor *tensor,
                     int64_t use)
{
    const struct mtlm_slot at = mtlm_tensor_slot(tensor, use);

    return rank->memory[at.owner->id][at.slot];
}

void *interpreter_data(struct interpreter *in, int rank,
                       struct mtlm_tensor *tensor)
{
    return slot_of(&in->rank[rank], tensor, 0);
}

static int64_t use_of(const struct interpreter *in,
                      const struct mtlm_item *item)
{
    return item->microbatch < 0 ? in->iteration
                                : in->first_microbatch + item->microbatch;
}

static const struct mtlm_item *current(const struct rank *rank)
{
    return rank->at < rank->items->n ? &rank->items->item[rank->at] : NULL;
}

static bool in_group(const struct rank *rank, const struct rank *other,
                     enum mtlm_group group)
{
    return mtlm_layout_meet(&rank->program->config.layout,
                            &other->program->config.layout, group);
}

static bool is_16_bit(enum mtlm_dtype dtype)
{
    return dtype == MTLM_BF16 || dtype == MTLM_F16;
}

static double get(const void *p, enum mtlm_dtype dtype, int64_t i)
{
    float wide;

    if (is_16_bit(dtype)) {
        mtlm_value16_widen(dtype, (const uint16_t *) p + i, 1, &wide);
        return wide;
    }
    return dtype == MTLM_F64 ? ((const double *) p)[i]
                             : ((const mtlm_real *) p)[i];
}

static void put(void *p, enum mtlm_dtype dtype, int64_t i, double value)
{
    const float single = value;

    if (is_16_bit(dtype))
        mtlm_value16_round(dtype, &single, 1, (uint16_t *) p + i);
    else if (dtype == MTLM_F64)
        ((double *) p)[i] = value;
    else
        ((mtlm_real *) p)[i] = value;
}

/* Elements of the tensors that a node sends (or works on in place), or that it
 * only receives, as one message: to flat, or from it. */
static void move(struct interpreter *in, struct rank *rank, bool received,
                 double *flat, bool to_flat)
{
    const struct mtlm_item *item = current(rank);
    const bool bucket = mtlm_ops[item->node->call.kind]->n_operands == 0;

    for (int i = 0; i < mtlm_node_n_uses(item->node); i++) {
        const struct mtlm_use use = mtlm_node_use(item->node, i);
        struct mtlm_tensor *t = use.tensor;
        double *at =
            flat + (bucket ? t->offset / (int) mtlm_dtype_bytes(t->dtype) : 0);
        void *p = slot_of(rank, t, use_of(in, item));

        if (use.control || (use.access == MTLM_W) != received)
            continue;
        for (int64_t e = 0; e < mtlm_shape_elems(&t->shape); e++)
            if (to_flat)
                at[e] = get(p, t->dtype, e);
            else
                put(p, t->dtype, e, at[e]);
    }
}

/* The ranks of a collective, in the order of their numbers in the group, and
 * what each of them sends [n]. */
struct meeting {
    struct rank *rank[16];
    int size;
    int64_t n;
    double *sent[16];
};

static void add_up(const struct meeting *m, const struct mtlm_node *node,
                   double *sum)
{
    const bool max = node->call.attr.collective.reduce == MTLM_REDUCE_MAX;
    const bool f64 = mtlm_node_use(node, 0).tensor->dtype == MTLM_F64;

    for (int64_t i = 0; i < m->n; i++) {
        sum[i] = m->sent[0][i];
        for (int r = 1; r < m->size; r++) {
            const double v = m->sent[r][i];

            if (max)
                sum[i] = v > sum[i] ? v : sum[i];
            else
                sum[i] = f64 ? sum[i] + v : (mtlm_real) (sum[i] + v);
        }
    }
}

/* The collective that all of the group have reached. */
static void meet(struct interpreter *in, struct meeting *m)
{
    const struct mtlm_node *node = current(m->rank[0])->node;
    const enum mtlm_op_kind kind = node->call.kind;
    const bool in_place = kind == MTLM_OP_BUCKET_ALL_GATHER;
    const bool gather = in_place || kind == MTLM_OP_ALL_GATHER;
    const bool scatter =
        kind == MTLM_OP_REDUCE_SCATTER || kind == MTLM_OP_BUCKET_REDUCE_SCATTER;
    const int64_t count = mtlm_node_elems(node);
    double *result;

    m->n = in_place ? count * m->size : count;
    for (int r = 0; r < m->size; r++) {
        m->sent[r] = mtlm_calloc(m->n, sizeof(double));
        move(in, m->rank[r], false, m->sent[r], true);
    }
    result = mtlm_calloc(m->n * m->size, sizeof(*result));
    if (gather)
        for (int r = 0; r < m->size; r++)
            memcpy(result + r * count, m->sent[r] + (in_place ? r * count : 0),
                   count * sizeof(*result));
    else
        add_up(m, node, result);
    for (int r = 0; r < m->size; r++) {
        move(in, m->rank[r], scatter || kind == MTLM_OP_ALL_GATHER,
             result
                 + (kind == MTLM_OP_REDUCE_SCATTER ? r * (count / m->size) : 0),
             false);
        free(m->sent[r]);
        m->rank[r]->waiting = false;
        m->rank[r]->at++;
    }
    free(result);
}

static bool try_collective(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_node *node = current(rank)->node;
    struct meeting meeting = {.size = 0};

    rank->waiting = true;
    for (int r = 0; r < in->n; r++) {
        struct rank *other = &in->rank[r];

        if (!in_group(rank, other, node->call.attr.collective.group))
            continue;
        if (!other->waiting
            || current(other)->node->call.attr.collective.group
                   != node->call.attr.collective.group)
            return false;
        /* Their next one of this group must be the same. */
        assert(current(other)->node->call.kind == node->call.kind
               && mtlm_node_elems(current(other)->node)
                      == mtlm_node_elems(node));
        assert(meeting.size < 16);
        meeting.rank[meeting.size++] = other;
    }
    meet(in, &meeting);
    return true;
}

static int number(const struct interpreter *in, const struct rank *rank)
{
    return rank - in->rank;
}

static bool try_p2p(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_item *item = current(rank);
    const struct mtlm_node *node = item->node;
    const int peer = node->call.attr.p2p.peer;
    const int64_t tag = node->call.attr.p2p.tag + use_of(in, item) * 1000;
    const size_t bytes = mtlm_tensor_bytes(node->operand[0]);
    void *p = slot_of(rank, node->operand[0], use_of(in, item));

    if (node->call.kind == MTLM_OP_SEND) {
        struct mail *mail = mtlm_calloc(1, sizeof(*mail));

        *mail = (struct mail){number(in, rank), peer, tag,
                              mtlm_calloc(1, bytes), in->mail};
        memcpy(mail->data, p, bytes);
        in->mail = mail;
        rank->at++;
        return true;
    }
    for (struct mail **at = &in->mail; *at; at = &(*at)->next) {
        struct mail *mail = *at;

        if (mail->to == number(in, rank) && mail->from == peer
            && mail->tag == tag) {
            memcpy(p, mail->data, bytes);
            *at = mail->next;
            free(mail->data);
            free(mail);
            rank->at++;
            return true;
        }
    }
    return false;
}

static void compute(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_item *item = current(rank);
    const struct mtlm_node *node = item->node;
    const struct mtlm_program_config *config = &rank->program->config;
    const int64_t microbatches = node->phase == MTLM_PHASE_EVAL
                                     ? config->eval_microbatches
                                     : config->microbatches;
    const struct mtlm_context context = {
        .share = 1.0 / (microbatches * config->layout.dp),
        .batch = config->microbatches * config->micro_batch * config->layout.dp,
        .sample =
            in->first_sample
            + (item->microbatch * config->layout.dp + config->layout.dp_rank)
                  * config->micro_batch,
        .scratch = &in->scratch,
        .wide = &in->wide};
    void *operand[MTLM_MAX_POINTERS], *ptr[MTLM_MAX_POINTERS];

    for (int i = 0; i < mtlm_call_n_operands(&node->call); i++)
        operand[i] =
            slot_of(rank, mtlm_node_use(node, i).tensor, use_of(in, item));
    mtlm_call_spread(&node->call, operand, ptr);
    mtlm_call_run_cpu(ptr, &node->call, &context);
    rank->at++;
}

/* One step of one rank; false: it must wait, or is at its end. */
static bool step(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_item *item = current(rank);

    if (item
        && ((in->forward_only && item->node->phase != MTLM_PHASE_FORWARD)
            || (in->left && item->microbatch >= in->left))) {
        rank->at++;
        return true;
    }
    if (!item || rank->waiting
        || (in->stop_before_step
            && (item->node->call.kind == MTLM_OP_ADAM
                || item->node->call.kind == MTLM_OP_ADAM_MASTER
                || item->node->call.kind == MTLM_OP_BUCKET_ALL_GATHER)))
        return false;
    switch (mtlm_ops[item->node->call.kind]->op_class) {
    case MTLM_CLASS_COLLECTIVE:
        return try_collective(in, rank);
    case MTLM_CLASS_P2P:
        return try_p2p(in, rank);
    default:
        compute(in, rank);
        return true;
    }
}

static void run(struct interpreter *in)
{
    bool any;

    do {
        any = false;
        for (int r = 0; r < in->n; r++)
            while (step(in, &in->rank[r]))
                any = true;
    } while (any);
    for (int r = 0; r < in->n; r++)
        assert(in->stop_before_step || !current(&in->rank[r]));
    assert(!in->mail);
}

/* From that microbatch of the run on; what is of none has that use. */
static void start_at(struct interpreter *in, int64_t use, int64_t microbatch,
                     struct mtlm_items *(*items)(struct mtlm_program *) )
{
    const struct mtlm_program_config *config = &in->rank[0].program->config;

    in->iteration = use;
    in->first_microbatch = microbatch;
    in->first_sample =
        in->first_microbatch * config->micro_batch * config->layout.dp;
    for (int r = 0; r < in->n; r++) {
        in->rank[r].items = items(in->rank[r].program);
        in->rank[r].at = 0;
    }
    run(in);
    in->stop_before_step = in->forward_only = false;
}

static void start(struct interpreter *in, int64_t iteration,
                  struct mtlm_items *(*items)(struct mtlm_program *) )
{
    start_at(in, iteration,
             iteration * in->rank[0].program->config.microbatches, items);
}

static struct mtlm_items *init_items(struct mtlm_program *program)
{
    return &program->init;
}

static struct mtlm_items *train_items(struct mtlm_program *program)
{
    return &program->train;
}

static struct mtlm_items *eval_items(struct mtlm_program *program)
{
    return &program->eval;
}

void interpreter_init(struct interpreter *in)
{
    start(in, 0, init_items);
}

void interpreter_iteration(struct interpreter *in, int64_t iteration,
                           bool stop_before_step)
{
    in->stop_before_step = stop_before_step;
    start(in, iteration, train_items);
}

double interpreter_loss(struct interpreter *in, int64_t iteration)
{
    double loss = 0;

    in->forward_only = true;
    start(in, iteration, train_items);
    /* Every replica has its share; its tensor-parallel ranks have the same. */
    for (int r = 0; r < in->n; r++)
        if (in->rank[r].program->loss) {
            double *p = interpreter_data(in, r, in->rank[r].program->loss);

            if (in->rank[r].program->config.layout.tp_rank == 0)
                loss += p[MTLM_LOSS_LM] + p[MTLM_LOSS_SOP];
            memset(p, 0, MTLM_LOSS_COUNT * sizeof(*p));
        }
    return loss;
}

double interpreter_validation(struct interpreter *in)
{
    const struct mtlm_program *program = in->rank[0].program;
    const int64_t piece = mtlm_program_piece(&program->config);
    double loss = 0;

    for (int64_t i = 0; i < mtlm_program_pieces(&program->config); i++) {
        in->left = program->config.eval_microbatches - i * piece;
        start_at(in, i, i * piece, eval_items);
        loss += ((double *) slot_of(&in->rank[0], program->eval_report,
                                    i))[MTLM_STATUS_LOSS];
    }
    in->left = 0;
    return loss;
}
