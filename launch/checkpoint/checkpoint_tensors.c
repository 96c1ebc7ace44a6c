/* Lists the tensors of a checkpoint that a rank writes or loads. */

#include "config.h"

#include <stdlib.h>

#include "launch/checkpoint/checkpoint.h"
#include "runtime/base/memory.h"

static bool is_of_task(const struct mtlm_parameter *p)
{
    return p->kind == MTLM_PARAM_TASK_WEIGHT || p->kind == MTLM_PARAM_TASK_BIAS;
}

/* Whether the parameter belongs to the head of a fine-tuning task. */
static bool is_head(const struct mtlm_program *program,
                    const struct mtlm_parameter *p)
{
    return program->config.model.head != MTLM_HEAD_PRETRAINING
           && (is_of_task(p) || p->kind == MTLM_PARAM_POOLER_WEIGHT
               || p->kind == MTLM_PARAM_POOLER_BIAS);
}

/* Adds tensor to list: the elements of the parameter's shard from `begin`
 * on. */
static void add_tensor(struct mtlm_checkpoint_tensors *list,
                       const struct mtlm_program *program,
                       const struct mtlm_parameter *p, const char *suffix,
                       const struct mtlm_tensor *tensor, int64_t begin)
{
    const struct mtlm_shape *shape = &p->weight->shape;
    const bool padded =
        p->kind == MTLM_PARAM_WORD || p->kind == MTLM_PARAM_LM_BIAS;

    list->tensor =
        mtlm_realloc(list->tensor, list->n + 1, sizeof(*list->tensor));
    list->tensor[list->n++] = (struct mtlm_checkpoint_tensor){
        .name = mtlm_parameter_name(p, suffix),
        .slice = {.full = {p->info.rows, p->info.cols},
                  .first = {p->first_row, p->first_col},
                  .dim = {shape->dim[0], shape->rank > 1 ? shape->dim[1] : 1},
                  .begin = begin,
                  .count = mtlm_tensor_elems(tensor)},
        .tensor = tensor,
        .layer = p->layer,
        .rows = padded ? program->config.model.vocab_size : p->info.rows,
        .moment = *suffix != '\0',
        .head = is_head(program, p),
        .of_task = is_of_task(p)};
}

static void add_moments(struct mtlm_checkpoint_tensors *list,
                        const struct mtlm_program *program,
                        const struct mtlm_parameter *p)
{
    if (!p->m)
        return;
    add_tensor(list, program, p, ".exp_avg", p->m, p->first);
    add_tensor(list, program, p, ".exp_avg_sq", p->v, p->first);
}

/* Returns the first element of the shard that a copy holds: moments and masters
 * are cut, weights are whole. */
static int64_t begin_of(const struct mtlm_parameter *p, int copy)
{
    const bool whole =
        copy == MTLM_SAVED_BEFORE || (copy == MTLM_SAVED_VALUE && !p->master);

    return whole ? 0 : p->first;
}

void mtlm_checkpoint_to_save(const struct mtlm_program *program,
                             struct mtlm_checkpoint_tensors *list)
{
    static const char *const suffix[] = {[MTLM_SAVED_VALUE] = "",
                                         [MTLM_SAVED_M] = ".exp_avg",
                                         [MTLM_SAVED_V] = ".exp_avg_sq",
                                         [MTLM_SAVED_BEFORE] = ".before"};

    *list = (struct mtlm_checkpoint_tensors){0};
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        for (int s = 0; s < MTLM_SAVED_COUNT; s++)
            if (p->saved[s])
                add_tensor(list, program, p, suffix[s], p->saved[s],
                           begin_of(p, s));
    }
}

void mtlm_checkpoint_to_load(const struct mtlm_program *program, bool moments,
                             struct mtlm_checkpoint_tensors *list)
{
    *list = (struct mtlm_checkpoint_tensors){0};
    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];

        if (!p->weight->alias_of)
            add_tensor(list, program, p, "", p->weight, 0);
        if (p->master)
            add_tensor(list, program, p, "", p->master, p->first);
        if (moments)
            add_moments(list, program, p);
        if (moments && p->before) {
            add_tensor(list, program, p, ".before", p->before, 0);
            list->tensor[list->n - 1].optional = true;
        }
    }
}

void mtlm_checkpoint_tensors_free(struct mtlm_checkpoint_tensors *list)
{
    for (int i = 0; i < list->n; i++)
        free(list->tensor[i].name);
    free(list->tensor);
    *list = (struct mtlm_checkpoint_tensors){0};
}
