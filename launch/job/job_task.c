/* The data and the result of a task. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/job/job_finetune.h"
#include "launch/job/job_task.h"
#include "launch/options/options_eval.h"
#include "launch/options/options_finetune.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

int mtlm_job_task_open(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_options *o = &job->options;
    const struct mtlm_task_input input = {.tokenizer = o->tokenizer,
                                          .path = o->valid_data,
                                          .seq_length = o->model.seq_length,
                                          .overlap = o->overlapping_eval,
                                          .strict = o->strict_lambada};
    const int64_t batch = o->global_batch_size;
    struct mtlm_scored_text *text;

    if (mtlm_options_finetunes(o))
        return mtlm_job_finetune_open(job, err);
    text = o->task->read(&input, err);
    if (!text)
        return mtlm_error_prefix(err, "--valid-data");
    job->scored = text;
    job->valid.samples = &text->source;
    o->eval_iters = (text->samples + batch - 1) / batch;
    job->wish.eval_iters = o->eval_iters;
    return mtlm_options_eval_check_logits(o, err);
}

void mtlm_job_task_print(const struct mtlm_job *job)
{
    const struct mtlm_scored_text *text = job->scored;

    printf("task: %s, %s, %" PRId64 " sample%s, %" PRId64 " tokens to predict",
           job->options.task->name, job->options.valid_data, text->samples,
           mtlm_plural(text->samples), text->scored);
    if (text->cut > 0)
        printf("; %" PRId64 " passage%s longer than --seq-length: the begin is "
               "left out",
               text->cut, text->cut == 1 ? " is" : "s are");
    printf("\n");
}

char *mtlm_job_task_describe(const struct mtlm_job *job)
{
    return mtlm_sprintf("%" PRId64 " samples of a task, hash %016" PRIx64,
                        job->scored->samples, job->scored->hash);
}

char *mtlm_job_task_result(const struct mtlm_job *job,
                           const double report[MTLM_STATUS_EXTRA])
{
    const struct mtlm_task_entry *task = job->options.task;
    char *mine = task->result(
        &(struct mtlm_task_result){.text = job->scored,
                                   .loss = report[MTLM_STATUS_LOSS],
                                   .hits = report[MTLM_STATUS_SOP_HITS]});
    char *all =
        mtlm_sprintf("%s: %s\npublished:\n%.*s", task->name, mine,
                     (int) strlen(task->published) - 1, task->published);

    free(mine);
    return all;
}
