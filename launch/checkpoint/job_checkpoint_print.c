/* What a job prints at its start about the checkpoint that it loads, and those
 * that it saves. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/checkpoint/job_checkpoint.h"
#include "launch/options/option_table.h"
#include "runtime/file/json_file.h"

/* Says what the learning rate counts where the saved run counted otherwise. */
static void print_clock(const struct mtlm_job *job)
{
    if (!job->load_path || !mtlm_job_checkpoint_loads_moments(job))
        return;
    if (mtlm_checkpoint_batch_change(job) != 1)
        printf("the batch was another: the learning rate goes on by "
               "iterations\n");
    else if (mtlm_json_file_text(job->loaded.options,
                                 mtlm_option_name(MTLM_OPT_TRAIN_SAMPLES))
             && !mtlm_options_given(&job->options, MTLM_OPT_TRAIN_SAMPLES))
        printf("the saved run counted samples: the learning rate goes on by "
               "samples\n");
}

/* Returns which options the checkpoint does not give, as the end of a sentence.
 */
static const char *not_taken(const struct mtlm_options *o)
{
    if (o->new_head)
        return "";
    if (o->finetune)
        return ", but for seed and precision";
    return o->no_load_rng && !mtlm_options_given(o, MTLM_OPT_SEED)
               ? ", but for seed"
               : "";
}

static void print_loaded(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;

    printf("loaded: %s, %s; %s come from the checkpoint%s\n", job->load_path,
           o->finetune || o->eval_only ? "its weights only"
           : o->no_load_optim          ? "without the optimizer's state"
                                       : "all of it",
           o->new_head ? "model and tokenizer" : "options that are not given",
           not_taken(o));
}

void mtlm_job_checkpoint_print(const struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;

    if (job->load_path)
        print_loaded(job);
    else if (o->load_dir)
        printf("loaded: nothing, %s holds no checkpoint; training starts\n",
               o->load_dir);
    if (o->eval_only && o->new_head && job->load_path)
        printf("the head is not trained: it has the random weights of --seed "
               "%" PRId64 "\n",
               o->seed);
    if (o->eval_only)
        return;
    print_clock(job);
    if (!o->save_dir)
        printf("checkpoints: none, the weights are lost when the run ends "
               "(--save DIR keeps them)\n");
    else if (o->save_interval > 0)
        printf("checkpoints: in %s, every %" PRId64
               " iterations%s and at the end, %.1f MB each\n",
               o->save_dir, o->save_interval,
               job->finetune ? ", after each epoch" : "",
               job->checkpoint_bytes / 1e6);
    else if (job->finetune)
        printf("checkpoints: in %s after each epoch, %.1f MB each\n",
               o->save_dir, job->checkpoint_bytes / 1e6);
    else
        printf("checkpoints: in %s at the end, %.1f MB\n", o->save_dir,
               job->checkpoint_bytes / 1e6);
}
