/* Files of classes and choices. */

#include "config.h"

#include <stdlib.h>

#include "launch/job/job_finetune.h"
#include "launch/train/answers_file.h"
#include "runtime/base/memory.h"

/* Returns the choices of all pairs or questions, in the files' order; the first
 * one where a logit is a NaN, as a file has an answer for each.  An item has
 * `step` samples. */
static int64_t *sort_choices(const struct mtlm_answers *a, int64_t step)
{
    int64_t *choice =
        mtlm_calloc(a->job->finetune->samples / step, sizeof(*choice));

    for (int64_t i = 0; i < a->n; i++)
        if (a->answer[i].choice > 0)
            choice[a->answer[i].sample / step] = a->answer[i].choice;
    return choice;
}

static int write_all(const struct mtlm_answers *a,
                     struct mtlm_output_file *file, struct mtlm_error *err)
{
    const struct mtlm_job_finetune *f = a->job->finetune;
    const int64_t step = mtlm_model_choices(&a->job->options.model);
    int64_t *choice = sort_choices(a, step);
    int rc = 0;

    for (int i = 0; i < f->devs && rc == 0; i++)
        rc = a->job->options.task->write(file, f->dev[i].data,
                                         choice + f->dev[i].first / step, err);
    free(choice);
    return rc;
}

int mtlm_answers_file_write(const struct mtlm_answers *answers,
                            struct mtlm_error *err)
{
    struct mtlm_output_file *file = mtlm_output_file_create_in_place(
        answers->job->options.predictions, err);
    const int rc = file ? write_all(answers, file, err) : -1;

    return mtlm_output_file_end(file, rc, err);
}
