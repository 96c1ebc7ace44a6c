#include "config.h"

#include <inttypes.h>

#include "launch/job.h"
#include "launch/summary_text.h"

static void compare_entropies(const struct mtlm_summary_text *text,
                              const struct mtlm_entropy *entropy, FILE *out)
{
    const double loss = text->last_validation;

    fprintf(out,
            "  For comparison, on the same validation text: guessing each byte "
            "from how\n"
            "  often it occurs costs %.3f nats per byte (unigram entropy), "
            "from the byte\n"
            "  before it %.3f (conditional bigram entropy H(b_t | b_t-1)).  "
            "The model is\n"
            "  %s.\n",
            entropy->unigram, entropy->bigram,
            loss < entropy->bigram
                ? "below both: it uses more than one byte of context"
            : loss < entropy->unigram
                ? "below the first, not yet below the second: train longer"
                : "above both: it has hardly learnt anything yet");
}

void mtlm_summary_text_print(const struct mtlm_summary_text *text,
                             const struct mtlm_job *job, FILE *out)
{
    const struct mtlm_layout *l = &job->layout;
    const int64_t m = mtlm_job_microbatches_traced(job);

    fprintf(out, "\nResult after %" PRId64 " iterations:\n", text->iterations);
    if (text->has_validation)
        fprintf(out, "  Validation loss from %.3f to %.3f nats per %s.\n",
                text->first_validation, text->last_validation,
                job->has_entropy ? "byte" : "token");
    if (text->has_validation && job->has_entropy)
        compare_entropies(text, &job->entropy, out);
    fprintf(out, "  Speed: %.0f tokens per second.\n", text->tokens_per_second);
    if (text->bubble >= 0)
        fprintf(out,
                "  Bubble: the workers were idle for %.1f %% of the recorded "
                "iterations; 1F1B\n"
                "  on %d equal stages with %" PRId64
                " microbatches has %.1f %% when nothing else is in the\n"
                "  way.\n",
                100 * text->bubble, l->pp, m,
                100.0 * (l->pp - 1) / (m + l->pp - 1));
    if (job->options.trace_dir)
        fprintf(out,
                "  Picture of the schedule: %s/schedule.svg (open it in a "
                "browser)\n",
                job->options.trace_dir);
    fflush(out);
}
