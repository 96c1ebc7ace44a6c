/* --eval-only: the options that it requires, refuses and ignores. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch/options/option_table.h"
#include "launch/options/options_eval.h"
#include "launch/options/options_generate.h"
#include "launch/options/options_note.h"
#include "runtime/base/units.h"

enum { MOST_LOGITS_GIB = 4 };

/* Refuses options that write or show a training iteration. */
static int refuse_iterations(const struct mtlm_options *o,
                             struct mtlm_error *err)
{
    static const enum mtlm_option_id of_iterations[] = {
        MTLM_OPT_TRACE,           MTLM_OPT_SVG,       MTLM_OPT_SCHEDULE_OUT,
        MTLM_OPT_DUMP_FIRST_STEP, MTLM_OPT_SYNTHETIC, MTLM_OPT_INJECT_NAN,
        MTLM_OPT_STAGE_TIMES,     MTLM_OPT_DURATIONS, MTLM_OPT_REPLAN_AFTER};

    for (size_t i = 0; i < sizeof(of_iterations) / sizeof(of_iterations[0]);
         i++)
        if (mtlm_options_given(o, of_iterations[i]))
            return mtlm_error_set(
                err, MTLM_EXIT_USAGE,
                "--%s needs training, and --%s does not train",
                mtlm_option_name(of_iterations[i]),
                mtlm_options_generate_wanted(o) ? mtlm_options_generate_name(o)
                : o->task                       ? "task"
                                                : "eval-only");
    return 0;
}

int mtlm_options_eval_check_logits(const struct mtlm_options *options,
                                   struct mtlm_error *err)
{
    const double samples =
        (double) options->eval_iters * options->global_batch_size;
    const double bytes = samples * options->model.seq_length
                         * options->model.vocab_size * sizeof(float);

    if (!options->logits_dir || bytes <= MOST_LOGITS_GIB * MTLM_GIB)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "--dump-logits: %.0f samples of %" PRId64 " x %" PRId64
        " logits are %.1f GiB, and the limit is %d GiB; give %s",
        samples, options->model.seq_length, options->model.vocab_size,
        bytes / MTLM_GIB, MOST_LOGITS_GIB,
        options->task ? "less text"
                      : "fewer --eval-iters or a smaller --global-batch-size");
}

int mtlm_options_eval_resolve(struct mtlm_options *options,
                              struct mtlm_error *err)
{
    if (!options->eval_only && options->logits_dir)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--dump-logits %s needs --eval-only",
                              options->logits_dir);
    if (mtlm_options_generate_wanted(options))
        return refuse_iterations(options, err);
    if (!options->eval_only)
        return 0;
    if (!options->load_dir)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--eval-only needs --load DIR, the directory of the checkpoint");
    if (options->mock_data && !options->task
        && !mtlm_options_given(options, MTLM_OPT_MOCK_DATA))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--eval-only needs --data-path PREFIX, the data "
                              "to evaluate on");
    if (options->eval_iters == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--eval-only with --eval-iters 0 has nothing to "
                              "evaluate; give 1 or more batches");
    if (refuse_iterations(options, err) < 0
        || (!options->task && mtlm_options_eval_check_logits(options, err) < 0))
        return -1;
    if (options->save_dir)
        mtlm_options_note(options,
                          "--save %s: nothing is saved with "
                          "--eval-only",
                          options->save_dir);
    free(options->save_dir);
    options->save_dir = NULL;
    options->save_interval = 0;
    options->summary_text = false; /* the text explains a training */
    return 0;
}
