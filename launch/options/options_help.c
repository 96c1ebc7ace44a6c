/* What the program says about itself: --usage, --version, --list-models,
 * --print-config; --help stands in help_text.c. */

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/option.h"
#include "launch/options/options_argp.h"
#include "models/presets.h"
#include "runtime/base/exit_code.h"
#include "runtime/base/memory.h"

void mtlm_options_argp(struct argp_option options[MTLM_ARGP_OPTIONS])
{
    int n = 0;

    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];

        if (i == 0 || o->group != mtlm_option_table[i - 1].group)
            options[n++] =
                (struct argp_option){.doc = mtlm_option_group_title[o->group],
                                     .group = o->group + 1};
        options[n++] = (struct argp_option){.name = o->name,
                                            .key = MTLM_ARGP_KEY + i,
                                            .arg = o->arg,
                                            .doc = o->help,
                                            .group = o->group + 1};
    }
    options[n] = (struct argp_option){0};
}

static void print_usage(FILE *out)
{
    struct argp_option options[MTLM_ARGP_OPTIONS];
    const struct argp argp = {.options = options};
    char name[] = "mtlm-dag";

    mtlm_options_argp(options);
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

static void print_models(FILE *out)
{
    fprintf(out, "Models for --model; every value can be overridden.\n\n");
    fprintf(out, "%-18s %6s %6s %5s %8s %10s\n", "name", "layers", "hidden",
            "heads", "sequence", "parameters");
    for (const struct mtlm_preset *p = mtlm_presets; p->name; p++)
        print_model(p, out);
    fprintf(out,
            "\nmtlm-dag --model NAME --print-config prints all that it stands "
            "for,\n--dry-run what it takes.\n");
}

/* Whether the value follows from others, so that a file that held it would
 * contradict them once one of those is changed, or gives way to others unless
 * somebody gave it. */
static bool derived(const struct mtlm_options *options, int option)
{
    static const char *const giving_way[] = {"window", "placement"};
    const struct mtlm_option *o = &mtlm_option_table[option];
    bool gives_way = false;

    for (size_t i = 0; i < sizeof(giving_way) / sizeof(giving_way[0]); i++)
        gives_way |= strcmp(o->name, giving_way[i]) == 0;
    return options->source[option] == MTLM_SOURCE_DEFAULT
           && (gives_way || !*o->fallback);
}

bool mtlm_option_absent(const struct mtlm_options *options, int option)
{
    const struct mtlm_option *o = &mtlm_option_table[option];
    const void *field = (const char *) options + o->offset;

    if (o->type == MTLM_OPTION_INT)
        return o->min > 0 && *(const int64_t *) field == 0;
    if (o->type == MTLM_OPTION_RAMP)
        return ((const struct mtlm_ramp *) field)->increment == 0;
    return o->type == MTLM_OPTION_TEXT && !*(char *const *) field;
}

void mtlm_options_print(const struct mtlm_options *options, FILE *out)
{
    int group = -1;

    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];

        if (!mtlm_option_in_file(i))
            continue;
        if ((int) o->group != group)
            fprintf(out, "%s# %s\n", group < 0 ? "" : "\n",
                    mtlm_option_group_title[o->group]);
        group = o->group;
        fprintf(out, "%s%s =", derived(options, i) ? "# " : "", o->name);
        if (!mtlm_option_absent(options, i)) {
            fputc(' ', out);
            mtlm_option_write(options, i, out);
        }
        fputc('\n', out);
    }
}

void mtlm_options_answer(const struct mtlm_options *options, int request,
                         FILE *out)
{
    switch (request) {
    case MTLM_REQUEST_HELP:
        mtlm_options_help(out);
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
        break;
    }
}
