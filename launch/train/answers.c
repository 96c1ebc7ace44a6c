/* Collects answers: the ranks that hold the head turn logits into answers
 * during a validation, and send them to the last rank. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/job/job_finetune.h"
#include "launch/train/answers.h"
#include "launch/train/microbatch_values.h"
#include "models/task/accuracy.h"
#include "models/task/squad.h"
#include "runtime/base/memory.h"

_Static_assert(sizeof(struct mtlm_answer) % sizeof(int64_t) == 0,
               "answers travel as whole numbers");
enum { NUMBERS = sizeof(struct mtlm_answer) / sizeof(int64_t) };

/* ---- logits to answers ---- */

/* Returns the number of the i-th sample of this rank's microbatch. */
static int64_t sample_number(const struct mtlm_program_config *config,
                             int64_t microbatch, int64_t i)
{
    const struct mtlm_layout *l = &config->layout;

    return (microbatch * l->dp + l->dp_rank) * config->micro_batch + i;
}

static void add_answer(struct mtlm_answers *a, int64_t sample,
                       const mtlm_real *logit, int64_t n, const mtlm_real *end)
{
    const struct mtlm_job_finetune *f = a->job->finetune;
    struct mtlm_answer answer = {.sample = sample};

    if (sample >= f->samples) /* fills up the last batch */
        return;
    if (end)
        answer.span = mtlm_span_find((const struct mtlm_squad *) f->dev[0].data,
                                     sample, logit, end);
    else
        answer.choice = mtlm_accuracy_answer(logit, n);
    mtlm_answers_dump_add(a->dump, sample, logit, n, end);
    a->answer = mtlm_realloc(a->answer, a->n + 1, sizeof(*a->answer));
    a->answer[a->n++] = answer;
}

static void take_answers(void *arg, int64_t microbatch)
{
    struct mtlm_answers *a = arg;
    const struct mtlm_program *program = a->job->program;
    const struct mtlm_tensor *const *logits =
        (const struct mtlm_tensor *const *) program->eval_answers;
    const int64_t *dim = logits[0]->shape.dim;
    const int64_t step = mtlm_model_choices(&program->config.model);
    mtlm_real *values[2] = {0};

    for (int k = 0; k < 2 && logits[k]; k++)
        values[k] = mtlm_microbatch_values(a->job->run, logits[k], microbatch);
    for (int64_t i = 0; i < dim[1]; i++)
        add_answer(a, sample_number(&program->config, microbatch, i * step),
                   values[0] + i * dim[2], dim[2],
                   values[1] ? values[1] + i * dim[2] : NULL);
    free(values[0]);
    free(values[1]);
}

struct mtlm_answers *mtlm_answers_begin(struct mtlm_job *job)
{
    struct mtlm_answers *a;

    if (!job->finetune)
        return NULL;
    a = mtlm_calloc(1, sizeof(*a));
    a->job = job;
    if (job->program->eval_answers[0] && job->layout.tp_rank == 0) {
        a->dump = mtlm_answers_dump_create(job);
        mtlm_run_on_validated(job->run, take_answers, a);
    }
    return a;
}

/* ---- to the last rank ---- */

/* Returns the rank that has the answers of a replica. */
static int rank_of_replica(const struct mtlm_job *job, int replica)
{
    struct mtlm_layout l = job->layout;

    l.tp_rank = 0;
    l.dp_rank = replica;
    return mtlm_layout_rank_of_stage(&l, mtlm_layout_stages(&l) - 1);
}

static void append(struct mtlm_answers *a, const struct mtlm_swap *swap)
{
    const int64_t n = swap->n_in / NUMBERS;

    a->answer = mtlm_realloc(a->answer, a->n + n + 1, sizeof(*a->answer));
    memcpy(a->answer + a->n, swap->in, n * sizeof(*a->answer));
    a->n += n;
    free(swap->in);
}

bool mtlm_answers_gather(struct mtlm_answers *a)
{
    const struct mtlm_job *job = a->job;
    const int rank = mtlm_ranks_rank(job->ranks);
    const int last = mtlm_ranks_size(job->ranks) - 1;
    struct mtlm_swap *swap = mtlm_calloc(job->layout.dp + 1, sizeof(*swap));
    int n = 0;

    mtlm_run_on_validated(job->run, NULL, NULL);
    for (int d = 0; d < job->layout.dp; d++) {
        const int from = rank_of_replica(job, d);

        if (rank == last && from != last)
            swap[n++] = (struct mtlm_swap){.peer = from};
        else if (rank == from && from != last)
            swap[n++] = (struct mtlm_swap){.peer = last,
                                           .out = (int64_t *) a->answer,
                                           .n_out = a->n * NUMBERS};
    }
    mtlm_ranks_swap(job->ranks, swap, n);
    for (int i = 0; i < n; i++)
        if (rank == last)
            append(a, &swap[i]);
        else
            free(swap[i].in);
    free(swap);
    return rank == last;
}

void mtlm_answers_end(struct mtlm_answers *answers)
{
    if (!answers)
        return;
    mtlm_run_on_validated(answers->job->run, NULL, NULL);
    mtlm_answers_dump_destroy(answers->dump);
    free(answers->answer);
    free(answers);
}
