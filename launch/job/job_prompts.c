/* The prompts of a job that generates text, and how many sequences the ranks
 * work on at a time. */

#include "config.h"

#include <inttypes.h>

#include "launch/job/job_prompts.h"
#include "runtime/base/least.h"

enum { PROMPT_ROWS = 32, NEW_TOKENS = 100 };

/* Sets o->max_new_tokens if the user did not. */
static int check_positions(struct mtlm_options *o, int64_t longest,
                           struct mtlm_error *err)
{
    const int64_t positions = o->model.max_positions;

    if (o->max_new_tokens == 0 && longest < positions)
        o->max_new_tokens = mtlm_least(NEW_TOKENS, positions - longest);
    if (o->max_new_tokens > 0 && longest + o->max_new_tokens <= positions)
        return 0;
    if (o->max_new_tokens == 0)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s prompt has %" PRId64 " tokens, but the model has %" PRId64
            " positions (--max-position-embeddings), and "
            "none is left for a new token",
            o->generate ? "the" : "the longest", longest, positions);
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "%s prompt has %" PRId64 " tokens, and with --max-new-tokens %" PRId64
        " that makes %" PRId64 ", but the model has %" PRId64
        " positions (--max-position-embeddings)",
        o->generate ? "the" : "the longest", longest, o->max_new_tokens,
        longest + o->max_new_tokens, positions);
}

/* Every worker of every stage can work on a sequence, while one more is in
 * messages. */
static int64_t count_slots(const struct mtlm_job *job)
{
    const struct mtlm_layout *l = &job->layout;
    const int64_t mine = (job->prompts->sequences + l->dp - 1) / l->dp;

    return mtlm_least(mine, (int64_t) l->pp * l->workers + (l->pp > 1));
}

int mtlm_job_prompts_open(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_options *o = &job->options;
    const int32_t begin = o->ends.begin >= 0 && o->ends.known
                              ? (int32_t) o->ends.begin
                              : o->tokenizer->eod;

    job->prompts = o->generate
                       ? mtlm_prompts_create(o->tokenizer, begin, o->generate,
                                             o->num_samples)
                       : mtlm_prompts_read(o->tokenizer, begin, o->prompt_file,
                                           o->num_samples, err);
    if (!job->prompts || check_positions(o, job->prompts->longest, err) < 0)
        return -1;
    job->valid.samples = &job->prompts->source;
    job->decoding = (struct mtlm_decoding){
        .sequences = (int) count_slots(job),
        .positions = job->prompts->longest + o->max_new_tokens,
        .prompt_rows = mtlm_least(PROMPT_ROWS, job->prompts->longest),
        .temperature = o->temperature,
        .top_p = o->top_p,
        .top_k = o->top_k};
    return 0;
}
