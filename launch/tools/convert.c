/* mtlm-convert: the command line, and functions that import and export
 * share. */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/tools/convert.h"
#include "launch/tools/convert_shards.h"
#include "launch/tools/tool.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/base/standard_output.h"
#include "runtime/file/disk.h"

const char *argp_program_version = "mtlm-convert " PACKAGE_VERSION;

/* ---- for both directions ---- */

void mtlm_convert_begin(struct mtlm_conversion *conversion)
{
    mtlm_tool_catch_signals();
    conversion->started_ns = conversion->told_ns = mtlm_now_ns();
}

void mtlm_convert_progress(struct mtlm_conversion *conversion, int64_t bytes)
{
    struct mtlm_conversion *c = conversion;
    const int64_t now = mtlm_now_ns();
    double mb, all, rate;

    c->bytes += bytes;
    if (now - c->told_ns < 2000000000)
        return;
    c->told_ns = now;
    mb = c->bytes * 1e-6;
    all = c->all_bytes * 1e-6;
    rate = mb / ((now - c->started_ns) * 1e-9);
    fprintf(stderr, "mtlm-convert: %.1f of %.1f MB, %.1f MB/s, %.0f s left\n",
            mb, all, rate, (all - mb) / rate);
}

char *mtlm_convert_name(const struct mtlm_model *model, enum mtlm_param param,
                        int64_t layer)
{
    const char *name = mtlm_param_info(model, param, 1).name;

    return param < MTLM_PARAM_PER_LAYER
               ? mtlm_sprintf("layers.%" PRId64 ".%s", layer, name)
               : mtlm_strdup(name);
}

bool mtlm_convert_next(const struct mtlm_model *model, int *param,
                       int64_t *layer)
{
    const bool more = *param >= 0 && *param < MTLM_PARAM_PER_LAYER
                      && *layer + 1 < model->num_layers;

    *layer = more ? *layer + 1 : 0;
    while (!more && ++*param < MTLM_PARAM_COUNT
           && mtlm_param_place(model, *param) == MTLM_PLACE_NONE)
        ;
    return *param < MTLM_PARAM_COUNT;
}

/* ---- the command line ---- */

enum { TORCH_DTYPE = 256, MAX_SHARD_SIZE };

static const struct argp_option option_list[] = {
    {"input", 'i', "PATH", 0,
     "Read PATH: a Hugging Face directory with a GPT-2, BLOOM or MegatronBert "
     "(config.json and safetensors, one file or several with an index), a "
     "model file of llm.c, a checkpoint, or a directory of checkpoints (the "
     "newest whole one)",
     1},
    {"output", 'o', "DIR", 0,
     "Write to DIR: an import makes a checkpoint for --load DIR; an export "
     "makes model.safetensors and config.json for Hugging Face's "
     "transformers. Files in DIR are never replaced",
     1},
    {"torch-dtype", TORCH_DTYPE, "TYPE", 0,
     "Export weights as TYPE: float32 (the default), or bfloat16, rounded to "
     "nearest",
     1},
    {"max-shard-size", MAX_SHARD_SIZE, "SIZE", 0,
     "Export several files of up to SIZE, such as 5GB, with an index; a larger "
     "tensor has a file of its own",
     1},
    {NULL, 0, NULL, 0, "Other:", -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct mtlm_conversion *conversion = state->input;

    switch (key) {
    case 'i':
        conversion->input = arg;
        break;
    case 'o': /* DIR/ is DIR */
        for (size_t n = strlen(arg); n > 1 && arg[n - 1] == '/'; n--)
            arg[n - 1] = '\0';
        conversion->output = arg;
        break;
    case TORCH_DTYPE:
        conversion->bf16 = strcmp(arg, "bfloat16") == 0;
        if (!conversion->bf16 && strcmp(arg, "float32") != 0)
            argp_error(state,
                       "--torch-dtype takes float32 or bfloat16, not "
                       "\"%s\"",
                       arg);
        break;
    case MAX_SHARD_SIZE:
        conversion->shard_bytes = mtlm_shards_parse(arg);
        if (conversion->shard_bytes == 0)
            argp_error(state,
                       "--max-shard-size takes a size such as 300MB or "
                       "5GB, not \"%s\"",
                       arg);
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is not an option", arg);
        break;
    case ARGP_KEY_END:
        if (!conversion->input || !*conversion->input)
            argp_error(state, "--input PATH is missing");
        if (!conversion->output || !*conversion->output)
            argp_error(state, "--output DIR is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = {
    .options = option_list,
    .parser = parse_option,
    .doc = "Imports the weights of a GPT-2, BLOOM or MegatronBert from Hugging "
           "Face's transformers, or from llm.c, as a checkpoint of mtlm-dag; "
           "exports "
           "a checkpoint as Hugging Face's files.\v"
           "Example:\n\n"
           "  mtlm-convert --input gpt2 --output weights\n"
           "  mtlm-dag --model gpt2-124m --load weights --eval-only "
           "--data-path data/book_text_document\n\n"
           "  mtlm-convert --input checkpoints --output for-transformers\n\n"
           "Exit status: 0 done, 2 wrong option, 3 bad input, 4 the input "
           "cannot be read or the output cannot be written, 6 not enough "
           "memory.",
};

static bool has(const char *dir, const char *name)
{
    char *path = mtlm_sprintf("%s/%s", dir, name);
    const bool is = access(path, F_OK) == 0;

    free(path);
    return is;
}

/* Returns 1 if path is a checkpoint or holds one, 0 if not; -1: path cannot be
 * read.  A directory that cannot be listed may hold anything, but Hugging
 * Face's files are opened by name. */
static int find_checkpoint(const char *path, struct mtlm_error *err)
{
    struct mtlm_checkpoint_id id;
    struct stat there;
    int rc;

    if (stat(path, &there) < 0)
        return errno == ENOENT ? mtlm_error_set(
                   err, MTLM_EXIT_INPUT, "%s: there is no such file", path)
                               : mtlm_disk_cannot_read(path, err);
    if (!S_ISDIR(there.st_mode))
        return 0;
    if (has(path, "manifest.json"))
        return 1;
    rc = mtlm_checkpoint_dir_newest(path, NULL, &id, err);
    return rc < 0 && has(path, "config.json") ? 0 : rc;
}

static int import_or_export(struct mtlm_conversion *conversion,
                            struct mtlm_error *err)
{
    const int found = find_checkpoint(conversion->input, err);

    if (found < 0)
        return -1;
    if (found)
        return mtlm_convert_export(conversion, err);
    if (conversion->bf16 || conversion->shard_bytes)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--torch-dtype and --max-shard-size are for an "
                              "export; %s is no checkpoint of mtlm-dag",
                              conversion->input);
    return mtlm_convert_import(conversion, err);
}

int main(int argc, char **argv)
{
    struct mtlm_conversion conversion = {0};
    struct mtlm_error err;

    mtlm_standard_output_start();
    argp_err_exit_status = MTLM_EXIT_USAGE;
    argp_parse(&parser, argc, argv, 0, NULL, &conversion);
    mtlm_tool_start();
    return mtlm_tool_end(import_or_export(&conversion, &err), &err);
}
