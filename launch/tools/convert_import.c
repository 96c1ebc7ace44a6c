/* Imports weights: Hugging Face's or llm.c's files become a checkpoint of
 * iteration 0. */

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/options/options_stored.h"
#include "launch/tools/convert.h"
#include "launch/tools/tool.h"
#include "models/text/vocabulary.h"
#include "models/weights/checkpoint_dir.h"
#include "models/weights/foreign.h"
#include "models/weights/manifest.h"
#include "runtime/base/plural.h"
#include "runtime/base/shell_word.h"
#include "runtime/file/dir_lock.h"
#include "runtime/file/disk.h"

#define FILE_NAME "rank-00000.safetensors"

/* A parameter of the checkpoint. */
struct import_source {
    struct mtlm_conversion *conversion;
    const struct mtlm_foreign *foreign;
    char *name; /* name in the checkpoint */
    int param;
    int64_t layer;
    int64_t dim[2];
    int64_t broken; /* infinite or NaN elements, known after reading */
};

struct importing {
    struct mtlm_conversion *conversion;
    struct mtlm_foreign foreign;
    struct import_source *source;
    int n;
    int lock;
    bool made, made_lock; /* this run made the output's directory, its lock */
};

static void list_sources(struct importing *in)
{
    const struct mtlm_model *model = &in->foreign.model;
    int param = -1;
    int64_t layer = -1;

    while (mtlm_convert_next(model, &param, &layer)) {
        const struct mtlm_param_info info = mtlm_param_info(model, param, 1);

        in->source = mtlm_realloc(in->source, in->n + 1, sizeof(*in->source));
        in->source[in->n++] = (struct import_source){
            .conversion = in->conversion,
            .foreign = &in->foreign,
            .name = mtlm_convert_name(model, param, layer),
            .param = param,
            .layer = layer,
            .dim = {info.rows, info.cols}};
        in->conversion->all_bytes += info.rows * info.cols * sizeof(float);
    }
}

static int read_source(void *arg, void *memory, struct mtlm_error *err)
{
    struct import_source *s = arg;
    const int64_t n = s->dim[0] * s->dim[1];
    const float *x = memory;

    (void) err; /* check_numbers() follows */
    mtlm_foreign_read(s->foreign, s->param, s->layer, memory);
    s->broken = 0;
    for (int64_t i = 0; i < n; i++)
        s->broken += !isfinite(x[i]);
    mtlm_convert_progress(s->conversion, n * sizeof(float));
    return 0;
}

/* Refuses infinite and NaN weights: training would stop in its first
 * iteration. */
static int check_numbers(const struct importing *in, struct mtlm_error *err)
{
    for (int i = 0; i < in->n; i++)
        if (in->source[i].broken)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "%s: damaged weights: %" PRId64
                                  " of the %" PRId64
                                  " elements of %s are infinite or NaN",
                                  in->conversion->input, in->source[i].broken,
                                  in->source[i].dim[0] * in->source[i].dim[1],
                                  in->source[i].name);
    return 0;
}

static int write_manifest(const struct importing *in, const char *dir,
                          const struct mtlm_safetensors_writer *writer,
                          struct mtlm_error *err)
{
    const struct mtlm_model *model = &in->foreign.model;
    const struct mtlm_options options = {.model = *model,
                                         .bert_no_binary_head =
                                             model->family == MTLM_BERT
                                             && !model->binary_head};
    const struct mtlm_safetensors_written written =
        mtlm_safetensors_writer_written(writer);
    struct mtlm_manifest m = {.settings = mtlm_options_stored_model(&options),
                              .state = json_object(),
                              .file = mtlm_calloc(1, sizeof(*m.file)),
                              .files = 1};
    int rc;

    mtlm_ends_store(&in->foreign.ends, m.settings);
    m.file[0] = (struct mtlm_manifest_file){
        .name = mtlm_strdup(FILE_NAME),
        .bytes = written.bytes,
        .hash = written.hash,
        .tensor = mtlm_calloc(in->n + 1, sizeof(*m.file[0].tensor)),
        .tensors = in->n};
    for (int i = 0; i < in->n; i++) {
        const int64_t *dim = in->source[i].dim;

        m.file[0].tensor[i] = (struct mtlm_manifest_tensor){
            .name = mtlm_strdup(in->source[i].name),
            .slice = {.full = {dim[0], dim[1]},
                      .dim = {dim[0], dim[1]},
                      .count = dim[0] * dim[1]},
            .hash = mtlm_safetensors_writer_hash(writer, i)};
    }
    rc = mtlm_manifest_write(&m, dir, err);
    mtlm_manifest_free(&m);
    return rc;
}

static int write_files(struct importing *in, struct mtlm_error *err)
{
    char *dir = mtlm_checkpoint_dir_temporary(in->conversion->output, 0);
    char *path = mtlm_sprintf("%s/%s", dir, FILE_NAME);
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(path);
    int rc;

    mtlm_safetensors_writer_stop(writer, mtlm_tool_stopped);
    for (int i = 0; i < in->n; i++)
        mtlm_safetensors_writer_add_later(
            writer, in->source[i].name, MTLM_SAFETENSORS_F32,
            in->source[i].dim[1] > 1 ? 2 : 1, in->source[i].dim, read_source,
            &in->source[i]);
    rc = mtlm_safetensors_writer_commit(writer, err);
    if (rc == 0)
        rc = mtlm_tool_stopped(err);
    if (rc == 0)
        rc = check_numbers(in, err);
    if (rc == 0)
        rc = write_manifest(in, dir, writer, err);
    mtlm_safetensors_writer_destroy(writer);
    free(path);
    free(dir);
    return rc;
}

/* Creates and locks the output directory; refuses one with a checkpoint. */
static int claim_output(struct importing *in, struct mtlm_error *err)
{
    const char *output = in->conversion->output;
    struct mtlm_checkpoint_id id;
    char *path;
    int rc;

    in->lock = -1;
    in->made = mkdir(output, 0777) == 0;
    if (!in->made && errno != EEXIST)
        return mtlm_disk_cannot_make(output, err);
    in->made_lock = mtlm_dir_lock_check(output, NULL) < 0;
    if (mtlm_dir_lock_take(output, &in->lock, err) < 0)
        return -1;
    rc = mtlm_checkpoint_dir_newest(output, NULL, &id, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return mtlm_checkpoint_dir_space(output, in->conversion->all_bytes,
                                         err);
    path = mtlm_checkpoint_dir_path(output, &id);
    rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                        "%s exists; choose another directory", path);
    free(path);
    return rc;
}

/* Removes what claim_output() made.  A lock that another job holds stays, and
 * with it the directory. */
static void unclaim_output(const struct importing *in)
{
    const char *output = in->conversion->output;

    if (in->lock >= 0 && in->made_lock)
        mtlm_dir_lock_remove(output);
    if (in->made)
        rmdir(output);
}

static int write_all(struct importing *in, struct mtlm_error *err)
{
    const char *output = in->conversion->output;
    int rc = mtlm_checkpoint_dir_begin(output, 0, err);

    if (rc == 0)
        rc = write_files(in, err);
    if (rc == 0)
        rc = mtlm_checkpoint_dir_commit(output, 0, err);
    if (rc < 0)
        mtlm_checkpoint_dir_discard(output, 0);
    return rc;
}

/* Prints what was written and how to use the checkpoint. */
static void print_result(const struct importing *in)
{
    const struct mtlm_conversion *c = in->conversion;
    char quoted[MTLM_QUOTED_BYTES];
    const char *unused;
    const int64_t more = mtlm_foreign_unused(&in->foreign, &unused);

    if (more > 0)
        printf("left out: %" PRId64 " tensor%s that this model does not have, "
               "%s%s\n",
               more, mtlm_plural(more),
               mtlm_vocabulary_quote(quoted, unused, strlen(unused)),
               more > 1 ? " and others" : "");
    printf("%s/iter_0000000: %d tensors, %.1f MB\nto evaluate: --load ",
           c->output, in->n, c->all_bytes / 1e6);
    mtlm_shell_word_print(c->output, stdout);
    printf(" --eval-only --data-path PREFIX\nto train: --load ");
    mtlm_shell_word_print(c->output, stdout);
    printf(" --finetune --data-path PREFIX --micro-batch-size N --train-iters "
           "N --lr X\n");
}

int mtlm_convert_import(struct mtlm_conversion *conversion,
                        struct mtlm_error *err)
{
    struct importing in = {.conversion = conversion};
    int rc = mtlm_foreign_open(&in.foreign, conversion->input, err);

    if (rc < 0)
        return -1;
    list_sources(&in);
    mtlm_convert_begin(conversion);
    rc = claim_output(&in, err);
    if (rc == 0)
        rc = write_all(&in, err);
    if (rc == 0)
        print_result(&in);
    if (rc < 0)
        unclaim_output(&in);
    if (in.lock >= 0)
        close(in.lock);
    for (int i = 0; i < in.n; i++)
        free(in.source[i].name);
    free(in.source);
    mtlm_foreign_close(&in.foreign);
    return rc;
}
