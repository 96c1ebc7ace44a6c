#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/control_slots.h"
#include "codelets/value.h"
#include "graph/build/offload.h"
#include "graph/build/program_build.h"
#include "graph/build/version.h"
#include "runtime/file/offload_file.h"
#include "tests/graph/interpreter_rank.h"

/* The pieces lie behind each other, as in a file. */
static void place_pieces(struct rank *rank)
{
    const struct mtlm_offloaded *o = &rank->program->offloaded;
    int64_t at = 0;
    char *file = mtlm_calloc(1, (size_t) mtlm_offload_bytes(rank->program));

    for (int i = 0; i < o->n_pieces; i++) {
        rank->piece[i] = file + at;
        at += mtlm_offload_file_padded(o->piece[i]);
    }
    if (o->n_pieces == 0)
        free(file);
}

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
        rank->program = mtlm_program_build(&mine);
        graph = rank->program->graph;
        rank->memory = mtlm_calloc(graph->n_tensors, sizeof(*rank->memory));
        rank->block = mtlm_calloc(graph->n_blocks, sizeof(*rank->block));
        for (int i = 0; i < graph->n_blocks; i++)
            rank->block[i] = mtlm_calloc(1, graph->block[i]);
        rank->piece = mtlm_calloc(rank->program->offloaded.n_pieces,
                                  sizeof(*rank->piece));
        place_pieces(rank);
        for (int i = 0; i < graph->n_tensors; i++) {
            const struct mtlm_tensor *t = graph->tensor[i];

            if (!mtlm_tensor_is_owner(t))
                continue;
            rank->memory[i] = mtlm_calloc(t->slots, sizeof(void *));
            for (int s = 0; s < t->slots; s++)
                rank->memory[i][s] =
                    t->block < 0
                        ? mtlm_calloc(1, mtlm_tensor_bytes(t))
                        : rank->block[t->block] + t->offset + s * t->stride;
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
        if (rank->program->offloaded.n_pieces > 0)
            free(rank->piece[0]);
        free(rank->piece);
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

void *interpreter_slot(const struct rank *rank, struct mtlm_tensor *tensor,
                       int64_t use)
{
    const struct mtlm_slot at = mtlm_tensor_slot(tensor, use);

    return rank->memory[at.owner->id][at.slot];
}

void *interpreter_data_of(struct interpreter *in, int rank,
                          struct mtlm_tensor *tensor, int64_t slot)
{
    return interpreter_slot(&in->rank[rank], tensor, slot);
}

void *interpreter_data(struct interpreter *in, int rank,
                       struct mtlm_tensor *tensor)
{
    return interpreter_data_of(in, rank, tensor,
                               tensor->by_iteration ? in->iteration : 0);
}

int64_t interpreter_use(const struct interpreter *in,
                        const struct mtlm_item *item,
                        const struct mtlm_tensor *tensor)
{
    if (tensor && tensor->by_iteration)
        return in->iteration;
    return item->microbatch < 0 ? in->iteration
                                : in->first_microbatch + item->microbatch;
}

const struct mtlm_item *interpreter_current(const struct rank *rank)
{
    return rank->at < rank->items->n ? &rank->items->item[rank->at] : NULL;
}

static void compute(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_item *item = interpreter_current(rank);
    const struct mtlm_node *node = item->node;
    const struct mtlm_program_config *config = &rank->program->config;
    const int64_t microbatches =
        node->phase == MTLM_PHASE_EVAL && config->eval_microbatches > 0
            ? config->eval_microbatches
            : config->microbatches;
    const bool sums =
        node->phase == MTLM_PHASE_EVAL && config->measure != MTLM_MEASURE_MEANS;
    const struct mtlm_context context = {
        .share = sums ? 1 : 1.0 / (microbatches * config->layout.dp),
        .batch = config->microbatches * config->micro_batch * config->layout.dp,
        .sample =
            in->first_sample
            + (item->microbatch * config->layout.dp + config->layout.dp_rank)
                  * config->micro_batch,
        .first = item->microbatch == 0,
        .position = in->position,
        .rows = in->rows,
        .scratch = &in->scratch,
        .wide = &in->wide};
    void *operand[MTLM_MAX_POINTERS], *ptr[MTLM_MAX_POINTERS];

    for (int i = 0; i < mtlm_call_n_operands(&node->call); i++)
        operand[i] = interpreter_slot(
            rank, mtlm_node_use(node, i).tensor,
            interpreter_use(in, item, mtlm_node_use(node, i).tensor));
    mtlm_call_spread(&node->call, operand, ptr);
    mtlm_value_run_cpu(ptr, &node->call, &context);
    rank->at++;
}

/* Loads or stores pieces.  What memory held before a load is overwritten, so
 * that nothing is read that no store wrote. */
static void transfer(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_item *item = interpreter_current(rank);
    const struct mtlm_node *node = item->node;
    const struct mtlm_offloaded *o = &rank->program->offloaded;
    const int first = node->call.attr.disk.first
                      + node->call.attr.disk.step * item->microbatch;
    char *slot = interpreter_slot(rank, node->operand[0],
                                  interpreter_use(in, item, node->operand[0]));

    if (node->call.kind == MTLM_OP_LOAD)
        memset(slot, 0xff, mtlm_tensor_bytes(node->operand[0]));
    for (int i = first; i < first + node->call.attr.disk.n; i++) {
        if (node->call.kind == MTLM_OP_LOAD)
            memcpy(slot, rank->piece[i], o->piece[i]);
        else if (node->call.attr.disk.zeros)
            memset(rank->piece[i], 0, o->piece[i]);
        else
            memcpy(rank->piece[i], slot, o->piece[i]);
        slot += mtlm_offload_file_padded(o->piece[i]);
    }
    rank->at++;
}

/* One step of one rank; false: it must wait, or is at its end. */
static bool step(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_item *item = interpreter_current(rank);

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
                || item->node->call.kind == MTLM_OP_ADAM_VERSION
                || item->node->call.kind == MTLM_OP_BUCKET_ALL_GATHER)))
        return false;
    switch (mtlm_ops[item->node->call.kind]->op_class) {
    case MTLM_CLASS_COLLECTIVE:
        return interpreter_collective(in, rank);
    case MTLM_CLASS_P2P:
        return interpreter_p2p(in, rank);
    case MTLM_CLASS_DISK:
        transfer(in, rank);
        return true;
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
        assert(in->stop_before_step || !interpreter_current(&in->rank[r]));
    assert(!in->mail);
}

static void run_items(struct interpreter *in,
                      struct mtlm_items *(*items)(struct mtlm_program *) )
{
    for (int r = 0; r < in->n; r++) {
        in->rank[r].items = items(in->rank[r].program);
        in->rank[r].at = 0;
    }
    run(in);
    in->stop_before_step = in->forward_only = false;
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
    run_items(in, items);
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
    const struct mtlm_program_config *config = &in->rank[0].program->config;

    for (int i = 0; i < mtlm_version_count(config); i++)
        start(in, i, init_items);
}

void interpreter_iteration(struct interpreter *in, int64_t iteration,
                           bool stop_before_step)
{
    in->stop_before_step = stop_before_step;
    start(in, iteration, train_items);
}

struct interpreter *interpreter_train(const struct mtlm_program_config *config,
                                      int iterations)
{
    struct interpreter *in = interpreter_create(config);

    interpreter_init(in);
    for (int i = 0; i < iterations; i++)
        interpreter_iteration(in, i, false);
    return in;
}

static struct mtlm_items *save_items(struct mtlm_program *program)
{
    return &program->save;
}

void interpreter_save(struct interpreter *in, int64_t iteration)
{
    start(in, iteration, save_items);
}

const void *interpreter_on_disk(const struct interpreter *in, int rank,
                                const struct mtlm_tensor *tensor)
{
    return in->rank[rank].piece[tensor->piece] + tensor->piece_offset;
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

void interpreter_measure(struct interpreter *in,
                         double report[MTLM_STATUS_EXTRA])
{
    const struct mtlm_program *program = in->rank[0].program;
    const int64_t piece = mtlm_program_piece(&program->config);

    memset(report, 0, MTLM_STATUS_EXTRA * sizeof(*report));
    for (int64_t i = 0; i < mtlm_program_pieces(&program->config); i++) {
        const double *mine;

        in->left = program->config.eval_microbatches - i * piece;
        start_at(in, i, i * piece, eval_items);
        mine = interpreter_slot(&in->rank[0], program->eval_report, i);
        for (int k = 0; k < MTLM_STATUS_EXTRA; k++)
            report[k] += mine[k];
    }
    in->left = 0;
}

double interpreter_validation(struct interpreter *in)
{
    double report[MTLM_STATUS_EXTRA];

    interpreter_measure(in, report);
    return report[MTLM_STATUS_LOSS];
}

static struct mtlm_items *begin_items(struct mtlm_program *program)
{
    return &program->decode.begin;
}

static struct mtlm_items *prompt_items(struct mtlm_program *program)
{
    return &program->decode.prompt;
}

static struct mtlm_items *prompt_end_items(struct mtlm_program *program)
{
    return &program->decode.prompt_end;
}

static struct mtlm_items *step_items(struct mtlm_program *program)
{
    return &program->decode.step;
}

void interpreter_decode(struct interpreter *in, enum interpreter_decode part,
                        int slot, int64_t sequence, int64_t position,
                        int64_t rows)
{
    static struct mtlm_items *(*const items[])(struct mtlm_program *) = {
        begin_items, prompt_items, prompt_end_items, step_items};

    in->iteration = 0;
    in->first_microbatch = slot;
    in->first_sample = sequence;
    in->position = position;
    in->rows = rows;
    run_items(in, items[part]);
    in->position = in->rows = 0;
}
