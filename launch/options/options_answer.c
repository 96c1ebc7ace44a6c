/* Prints the answers to --help, --usage, --version, --list-models and
 * --print-config. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/help_text.h"
#include "launch/options/options_answer.h"
#include "launch/options/options_argp.h"
#include "launch/options/options_parse.h"
#include "launch/options/options_print.h"
#include "models/presets.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/file/ini_file.h"

static void print_usage(FILE *out)
{
    struct argp_option options[MTLM_ARGP_OPTIONS];
    const struct argp argp = {.options = options};
    char name[] = "mtlm-dag";

    mtlm_options_argp_fill(options);
    argp_help(&argp, out, ARGP_HELP_USAGE, name);
}

/* Four digits: 124.5 M, 2.490 B, 1008 B. */
static char *parameters_text(double n)
{
    const bool billions = n >= 1e9;
    const double shown = n / (billions ? 1e9 : 1e6);
    const int decimals = shown < 10 ? 3 : shown < 100 ? 2 : shown < 1000;

    return mtlm_sprintf("%.*f %c", decimals, shown, billions ? 'B' : 'M');
}

static void print_model(const struct mtlm_preset *preset, FILE *out)
{
    struct mtlm_options options;
    struct mtlm_error err;
    char program[] = "mtlm-dag";
    char *name = mtlm_sprintf("--model=%s", preset->name);
    char *argv[] = {program, name, NULL}, *parameters;

    if (mtlm_options_parse(&options, 2, argv, &err) != 0)
        assert(!"a preset that the options refuse");
    parameters =
        parameters_text(mtlm_model_padded_parameters(&options.model, 1));
    fprintf(out, "%-18s %6d %6d %5d %8d %10s  %s\n", preset->name,
            (int) options.model.num_layers, (int) options.model.hidden_size,
            (int) options.model.num_heads, (int) options.model.seq_length,
            parameters, preset->description);
    free(parameters);
    mtlm_options_free(&options);
    free(name);
}

/* Says which lines of --print-config --config cannot read. */
static void note_long_lines(const struct mtlm_options *options)
{
    struct mtlm_text all;
    char *text, *rest, *line;

    mtlm_options_print(options, mtlm_text_open(&all));
    text = mtlm_text_close(&all);
    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *name = line + strspn(line, "# "); /* also of a comment */

        if (strlen(line) > MTLM_INI_LONGEST)
            mtlm_warn("note: --config refuses the line of %.*s, which "
                      "has more than %d characters",
                      (int) strcspn(name, " "), name, MTLM_INI_LONGEST);
    }
    free(text);
}

/* Says what of the job the lines lack.  Without prompts, a file's precision is
 * a training's. */
static void note_prompt(const struct mtlm_options *options)
{
    if (options->generate)
        fprintf(stderr,
                "mtlm-dag: note: --config cannot hold a prompt; give "
                "--generate%s again\n",
                options->bf16   ? " and --bf16"
                : options->fp16 ? " and --fp16"
                                : "");
}

static void print_models(FILE *out)
{
    fprintf(out, "Models for --model; every value can be overridden.\n\n");
    fprintf(out, "%-18s %6s %6s %5s %8s %10s\n", "name", "layers", "hidden",
            "heads", "sequence", "parameters");
    for (const struct mtlm_preset *p = mtlm_presets; p->name; p++)
        print_model(p, out);
    fprintf(out, "\nmtlm-dag --model NAME --print-config prints the values of "
                 "a preset,\n"
                 "--dry-run its memory and work.\n");
}

void mtlm_options_answer(const struct mtlm_options *options, int request,
                         FILE *out)
{
    switch (request) {
    case MTLM_REQUEST_HELP:
        if (options->task)
            mtlm_task_help(options->task, out);
        else
            mtlm_help_text_print(out);
        break;
    case MTLM_REQUEST_USAGE:
        print_usage(out);
        break;
    case MTLM_REQUEST_VERSION:
        fprintf(out, "mtlm-dag %s\n", PACKAGE_VERSION);
        break;
    case MTLM_REQUEST_MODELS:
        print_models(out);
        break;
    case MTLM_REQUEST_CONFIG:
        mtlm_options_print(options, out);
        note_long_lines(options);
        note_prompt(options);
        break;
    }
}
