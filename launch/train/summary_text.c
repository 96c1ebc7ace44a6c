/* --summary-text: the result of a run in sentences for newcomers. */
#include "config.h"

#include <inttypes.h>

#include "launch/job/job.h"
#include "launch/train/summary_text.h"
#include "runtime/base/plural.h"

/* A BERT predicts masked bytes, not the next one: only byte frequencies compare
 * fairly. */
static void compare_bert(const struct mtlm_summary_text *text,
                         const struct mtlm_entropy *entropy, FILE *out)
{
    const bool below = text->last_validation < entropy->unigram;

    fprintf(out,
            "  For comparison, on the same validation text: guessing each byte "
            "from how\n"
            "  often it occurs costs %.3f nats per byte (unigram entropy).  "
            "The model is\n"
            "  %s.\n",
            entropy->unigram,
            below ? "below: it uses the words around the masked ones"
                  : "above: it has hardly learnt anything yet");
}

static void compare_gpt(const struct mtlm_summary_text *text,
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

static void print_validation(const struct mtlm_summary_text *text,
                             const struct mtlm_job *job, FILE *out)
{
    const struct mtlm_model *model = &job->options.model;
    const bool bert = model->family == MTLM_BERT;
    /* The loss of a task's head is that of its classes or spans. */
    const bool tokens = model->head == MTLM_HEAD_PRETRAINING;

    fprintf(out, "  Validation loss%s from %.3f to %.3f%s.\n",
            tokens && bert ? " of the masked tokens" : "",
            text->first_validation, text->last_validation,
            !tokens            ? ""
            : job->has_entropy ? " nats per byte"
                               : " nats per token");
    if (job->has_entropy)
        (bert ? compare_bert : compare_gpt)(text, &job->entropy, out);
    if (model->binary_head)
        fprintf(out,
                "  The model tells whether two pieces of text are swapped in "
                "%.1f %% "
                "of the\n"
                "  cases (guessing: 50 %%).\n",
                100 * text->last_hits);
}

void mtlm_summary_text_print(const struct mtlm_summary_text *text,
                             const struct mtlm_job *job, FILE *out)
{
    const struct mtlm_layout *l = &job->layout;
    const int64_t m = mtlm_job_microbatches_traced(job);

    fprintf(out, "\nResult after %" PRId64 " iteration%s:\n", text->iterations,
            mtlm_plural(text->iterations));
    if (text->has_validation)
        print_validation(text, job, out);
    fprintf(out, "  Speed: %.0f tokens per second.\n", text->tokens_per_second);
    if (text->bubble >= 0)
        fprintf(out,
                "  Bubble: the workers were idle for %.1f %% of the recorded "
                "iterations%s\n",
                100 * text->bubble, l->pp > 1 ? ";" : ".");
    if (text->bubble >= 0 && l->pp > 1)
        fprintf(out,
                "  %s on %d equal stages with %" PRId64
                " microbatch%s has %.1f %% in theory.\n",
                l->virtual_stages > 1 ? "interleaved 1F1B" : "1F1B",
                mtlm_layout_stages(l), m, mtlm_plural_es(m),
                100.0 * (l->pp - 1) / (l->virtual_stages * m + l->pp - 1));
    if (job->options.trace_dir)
        fprintf(out,
                "  Picture of the schedule: %s/schedule.svg (open it in a "
                "browser)\n",
                job->options.trace_dir);
}
