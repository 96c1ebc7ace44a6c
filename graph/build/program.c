/* Reads and frees a program; program_build.c builds one. */

#include "config.h"

#include <stdlib.h>

#include "graph/build/offload.h"
#include "graph/build/program.h"
#include "graph/build/version.h"
#include "runtime/base/memory.h"

bool mtlm_program_splits_rows(const struct mtlm_program_config *config)
{
    return config->sequence_parallel && config->layout.tp > 1;
}

struct mtlm_parameter *mtlm_program_param(const struct mtlm_program *program,
                                          enum mtlm_param kind, int64_t layer,
                                          bool head)
{
    const struct mtlm_model *model = &program->config.model;
    const bool copy = head && kind == MTLM_PARAM_WORD;
    const int at =
        program->param_at[copy ? mtlm_param_numbers(model)
                               : mtlm_param_number(model, kind, layer)];

    return at ? &program->param[at - 1] : NULL;
}

const struct mtlm_parameter *mtlm_program_summed(
    const struct mtlm_program *program, const struct mtlm_parameter *p)
{
    const struct mtlm_parameter *head =
        mtlm_program_param(program, p->kind, p->layer, true);

    return head ? head : p;
}

char *mtlm_parameter_name(const struct mtlm_parameter *p, const char *suffix)
{
    return p->layer < 0 ? mtlm_sprintf("%s%s", p->info.name, suffix)
                        : mtlm_sprintf("layers.%d.%s%s", (int) p->layer,
                                       p->info.name, suffix);
}

int64_t mtlm_program_piece(const struct mtlm_program_config *config)
{
    const int64_t filled = 2 * (int64_t) config->layout.pp;
    const int64_t piece =
        config->microbatches > filled ? config->microbatches : filled;

    return piece < config->eval_microbatches ? piece
                                             : config->eval_microbatches;
}

int64_t mtlm_program_pieces(const struct mtlm_program_config *config)
{
    const int64_t piece = mtlm_program_piece(config);

    return piece == 0 ? 0 : (config->eval_microbatches + piece - 1) / piece;
}

struct mtlm_boxes mtlm_program_boxes(const struct mtlm_program_config *config)
{
    return (struct mtlm_boxes){.layout = &config->layout,
                               .microbatches = config->microbatches,
                               .pieces = 1,
                               .fused = config->schedule->fused};
}

bool mtlm_program_is_ordered(const struct mtlm_program_config *config)
{
    const struct mtlm_boxes boxes = mtlm_program_boxes(config);

    if (!config->order || config->eval_only)
        return false;
    return config->follow == MTLM_FOLLOW_STRICT
           || (config->follow == MTLM_FOLLOW_HINT && config->layout.workers == 1
               && !mtlm_offload_streams(config)
               && mtlm_order_ascends(config->order, &boxes));
}

bool mtlm_program_is_chained(const struct mtlm_program_config *config)
{
    return config->order && config->follow == MTLM_FOLLOW_STRICT
           && !config->eval_only;
}

struct mtlm_priority mtlm_program_priority(const struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    struct mtlm_priority priority = mtlm_schedule_priority(
        config->schedule, &config->layout, config->microbatches);

    priority.place = program->place;
    priority.rolling = !program->place && mtlm_version_count(config) > 1;
    return priority;
}

static void free_decode(struct mtlm_decode *decode)
{
    mtlm_list_free(&decode->begin_list);
    mtlm_list_free(&decode->prompt_end_list);
    mtlm_list_free(&decode->step_end_list);
    free(decode->begin.item);
    free(decode->prompt.item);
    free(decode->prompt_end.item);
    free(decode->step.item);
    free(decode->cache);
}

void mtlm_program_destroy(struct mtlm_program *program)
{
    if (!program)
        return;
    for (int i = 0; i < program->n_buckets; i++)
        free(program->bucket[i].param);
    for (int c = 0; c < program->config.layout.virtual_stages; c++) {
        mtlm_list_free(&program->stage[c].forward);
        mtlm_list_free(&program->stage[c].backward);
        mtlm_list_free(&program->stage[c].weight);
        mtlm_list_free(&program->stage[c].pack);
        mtlm_list_free(&program->stage[c].reduce);
        mtlm_list_free(&program->stage[c].eval);
        mtlm_list_free(&program->stage[c].prompt);
        mtlm_list_free(&program->stage[c].step);
    }
    mtlm_list_free(&program->init_list);
    mtlm_list_free(&program->tail_list);
    mtlm_list_free(&program->eval_tail_list);
    mtlm_list_free(&program->save_list);
    free_decode(&program->decode);
    free(program->init.item);
    free(program->train.item);
    free(program->eval.item);
    free(program->save.item);
    free(program->window);
    free(program->place);
    free(program->stage);
    free(program->param);
    free(program->param_at);
    free(program->bucket);
    free(program->offloaded.unit);
    free(program->offloaded.piece);
    mtlm_graph_destroy(program->graph);
    free(program);
}
