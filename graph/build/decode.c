/* Builds the nodes that generate text: caches, drawing of a token, and its way
 * to the other pipeline ranks. */

#include "config.h"

#include <stdio.h>

#include "graph/build/builder.h"
#include "graph/build/decode.h"
#include "graph/build/embedding_head.h"
#include "graph/build/stage.h"
#include "runtime/base/memory.h"

/* Returns a tensor with a slot per sequence. */
static struct mtlm_tensor *add_tensor(struct mtlm_program *program,
                                      const char *name, struct mtlm_shape shape,
                                      enum mtlm_dtype dtype)
{
    struct mtlm_tensor *t = mtlm_graph_tensor(program->graph, MTLM_STORE_GLOBAL,
                                              name, shape, dtype);

    t->slots = program->config.decoding.sequences;
    return t;
}

/* Caches are in fp32 whatever the weights are: appending then converts the new
 * rows only. */
static void add_caches(struct mtlm_program *program,
                       const struct mtlm_stage *stage)
{
    const struct mtlm_program_config *config = &program->config;
    const int64_t hl = config->model.hidden_size / config->layout.tp;
    const union mtlm_attr zero = {.fill = {0}};

    for (int64_t i = 0; i < stage->n_layers; i++) {
        const int64_t layer = stage->first_layer + i;
        char name[64];
        struct mtlm_tensor *cache;

        snprintf(name, sizeof(name), "layers.%d.cache", (int) layer);
        mtlm_graph_at(program->graph, &program->decode.begin_list,
                      MTLM_PHASE_EVAL, stage->stage, (int) layer);
        cache = add_tensor(program, name,
                           MTLM_SHAPE(config->decoding.positions, 2 * hl),
                           MTLM_REAL);
        mtlm_graph_call(program->graph, MTLM_OP_FILL, &zero,
                        (struct mtlm_tensor *const[MTLM_MAX_OPERANDS]){cache});
        program->decode.cache[layer] = cache;
    }
}

/* Appends a message of the token between this rank and that pipeline rank. */
static void append_message(const struct mtlm_builder *b, enum mtlm_op_kind kind,
                           int pp_rank)
{
    const struct mtlm_layout *layout = &b->config->layout;
    const int last = mtlm_layout_stages(layout) - 1;
    int stage = last;
    union mtlm_attr attr;

    while (mtlm_layout_pp_rank(layout, stage) != pp_rank)
        stage--;
    attr = (union mtlm_attr){
        .p2p = {mtlm_layout_rank_of_stage(layout, stage),
                last * mtlm_stage_tags(b->config) + MTLM_STAGE_TAG_TOKEN}};
    mtlm_graph_call(b->graph, kind, &attr,
                    (struct mtlm_tensor *const[MTLM_MAX_OPERANDS]){
                        b->program->decode.token});
}

/* Draws the token that follows x [1, 1, h]; every rank of a tensor-parallel
 * group draws the same. */
static void draw_token(const struct mtlm_builder *b, struct mtlm_tensor *x)
{
    const struct mtlm_decoding *decoding = &b->config->decoding;
    const union mtlm_attr attr = {
        .sampling = {.temperature = decoding->temperature,
                     .top_p = decoding->top_p,
                     .top_k = decoding->top_k,
                     .seed = b->config->seed,
                     .size = b->config->model.vocab_size}};

    mtlm_graph_call(b->graph, MTLM_OP_SAMPLE_TOKEN, &attr,
                    (struct mtlm_tensor *const[MTLM_MAX_OPERANDS]){
                        mtlm_build_logits(b, x), b->program->decode.token});
}

/* Appends the end of a prompt or step.  x: the last stage's output, of which
 * the last row in use counts; NULL on ranks without the last stage. */
static void build_end(struct mtlm_program *program, struct mtlm_list *list,
                      struct mtlm_tensor *x)
{
    const struct mtlm_layout *layout = &program->config.layout;
    const int last =
        mtlm_layout_pp_rank(layout, mtlm_layout_stages(layout) - 1);
    const struct mtlm_builder b = {
        .program = program,
        .graph = program->graph,
        .config = &program->config,
        .stage = &program->stage[layout->virtual_stages - 1],
        .list = list,
        .phase = MTLM_PHASE_EVAL,
        .n_parts = 1,
        .rows = 1};

    mtlm_build_at(&b, -1);
    if (layout->pp_rank != last) {
        append_message(&b, MTLM_OP_RECV, last);
        return;
    }
    if (x->shape.dim[0] > 1)
        x = MTLM_CALL(&b, LAST_ROW, NULL, x);
    draw_token(&b, x);
    for (int rank = 0; rank < layout->pp; rank++)
        if (rank != last)
            append_message(&b, MTLM_OP_SEND, rank);
}

void mtlm_decode_build(struct mtlm_program *program)
{
    struct mtlm_decode *decode = &program->decode;
    const int v = program->config.layout.virtual_stages;
    const struct mtlm_stage *top = &program->stage[v - 1];

    decode->cache =
        mtlm_calloc(program->config.model.num_layers, sizeof(*decode->cache));
    for (int c = 0; c < v; c++)
        add_caches(program, &program->stage[c]);
    program->graph->stage = -1;
    decode->token = add_tensor(program, "token", MTLM_SHAPE(1, 1), MTLM_I32);
    for (int c = 0; c < v; c++)
        mtlm_stage_build_decode(program, &program->stage[c]);
    build_end(program, &decode->prompt_end_list, top->prompt_output);
    build_end(program, &decode->step_end_list, top->step_output);
}
