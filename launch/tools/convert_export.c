/* Exports a checkpoint as Hugging Face's files: the newest whole one of a
 * directory, or one by its own path. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/tools/convert.h"
#include "launch/tools/convert_output.h"
#include "launch/tools/convert_shards.h"
#include "launch/tools/tool.h"
#include "models/weights/checkpoint_dir.h"
#include "models/weights/foreign.h"
#include "models/weights/huggingface.h"
#include "runtime/base/plural.h"
#include "runtime/base/value16.h"
#include "runtime/file/output_file.h"

struct exporting {
    struct mtlm_conversion *conversion;
    char *path; /* of the checkpoint */
    struct mtlm_manifest manifest;
    struct mtlm_options options; /* the model of the checkpoint; other options
                                  * are unused */
    struct mtlm_safetensors **file;
    struct source *source;
    int n;
    struct mtlm_shards shards;
    struct mtlm_convert_output output;
};

/* A tensor of Hugging Face's file. */
struct source {
    struct exporting *out;
    char *ours;
    int param, part;
    int file; /* number of the file */
    int64_t dim[2];
};

/* ---- which checkpoint ---- */

static int verify_checkpoint(struct exporting *out, struct mtlm_error *err)
{
    struct mtlm_manifest *m = &out->manifest;
    int rc = mtlm_manifest_read(m, out->path, err);

    for (int64_t i = 0; i < m->files && rc == 0; i++)
        rc = mtlm_manifest_verify(&m->file[i], out->path, err);
    if (rc < 0)
        mtlm_manifest_free(m);
    return rc;
}

static int open_newest(struct exporting *out, struct mtlm_error *err)
{
    const char *dir = out->conversion->input;
    struct mtlm_checkpoint_id id, before;
    int rc = mtlm_checkpoint_dir_newest(dir, NULL, &id, err);

    for (; rc > 0; rc = mtlm_checkpoint_dir_newest(dir, &before, &id, err)) {
        out->path = mtlm_checkpoint_dir_path(dir, &id);
        if (verify_checkpoint(out, err) == 0)
            return 0;
        if (err->code != MTLM_EXIT_INPUT)
            return -1;
        mtlm_warn("checkpoint skipped: %s", err->text);
        free(out->path);
        out->path = NULL;
        before = id;
    }
    if (rc < 0)
        return -1;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: none of its checkpoints is whole", dir);
}

static int open_checkpoint(struct exporting *out, struct mtlm_error *err)
{
    char *manifest = mtlm_sprintf("%s/manifest.json", out->conversion->input);
    const bool itself = access(manifest, F_OK) == 0;

    free(manifest);
    if (!itself)
        return open_newest(out, err);
    out->path = mtlm_strdup(out->conversion->input);
    return verify_checkpoint(out, err);
}

/* ---- its tensors ---- */

static struct mtlm_slice whole_slice(const struct mtlm_param_info *info)
{
    return (struct mtlm_slice){.full = {info->rows, info->cols},
                               .dim = {info->rows, info->cols},
                               .count = info->rows * info->cols};
}

static int check_tensor(const struct exporting *out, const char *name,
                        const struct mtlm_param_info *info,
                        struct mtlm_error *err)
{
    const struct mtlm_slice slice = whole_slice(info);
    const int64_t found =
        mtlm_manifest_count(&out->manifest, name, &slice, info->rows);

    if (found == slice.count)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: tensor \"%s\": expected %" PRId64
                          " elements, found %" PRId64,
                          out->path, name, slice.count, found);
}

static enum mtlm_safetensors_dtype dtype_of(const struct exporting *out)
{
    return out->conversion->bf16 ? MTLM_SAFETENSORS_BF16 : MTLM_SAFETENSORS_F32;
}

static int64_t element_bytes(const struct exporting *out)
{
    return mtlm_safetensors_dtype_bytes(dtype_of(out));
}

static int read_source(void *arg, void *memory, struct mtlm_error *err)
{
    const struct source *s = arg;
    struct exporting *out = s->out;
    const struct mtlm_model *model = &out->options.model;
    const struct mtlm_param_info info = mtlm_param_info(model, s->param, 1);
    const struct mtlm_slice slice = whole_slice(&info);
    const int64_t n = s->dim[0] * s->dim[1];
    float *ours = mtlm_calloc(slice.count, sizeof(*ours));
    float *theirs =
        out->conversion->bf16 ? mtlm_calloc(n, sizeof(*theirs)) : memory;
    const int rc = mtlm_manifest_collect(&out->manifest, out->path, out->file,
                                         s->ours, &slice, ours, err);

    if (rc == 0)
        mtlm_foreign_part(model, s->param, s->part, ours, theirs);
    if (out->conversion->bf16) {
        mtlm_value16_round(MTLM_BF16, theirs, n, memory);
        free(theirs);
    }
    free(ours);
    mtlm_convert_progress(out->conversion, n * element_bytes(out));
    return rc;
}

/* Adds the tensors that a parameter becomes. */
static void add_sources(struct exporting *out, int param, const char *ours)
{
    const struct mtlm_model *model = &out->options.model;
    const struct mtlm_foreign_name *name = mtlm_foreign_name(model, param);

    for (int part = 0; part < 3 && name->part[part]; part++) {
        struct source *s;
        int64_t bytes;

        out->source =
            mtlm_realloc(out->source, out->n + 1, sizeof(*out->source));
        s = &out->source[out->n++];
        *s = (struct source){.out = out,
                             .ours = mtlm_strdup(ours),
                             .param = param,
                             .part = part};
        mtlm_foreign_part_shape(model, param, false, s->dim);
        bytes = s->dim[0] * s->dim[1] * element_bytes(out);
        s->file = mtlm_shards_take(&out->shards, bytes);
        out->conversion->all_bytes += bytes;
    }
}

static int list_sources(struct exporting *out, struct mtlm_error *err)
{
    const struct mtlm_model *model = &out->options.model;
    int param = -1, rc = 0;
    int64_t layer = -1;

    while (rc == 0 && mtlm_convert_next(model, &param, &layer)) {
        const struct mtlm_param_info info = mtlm_param_info(model, param, 1);
        char *name = mtlm_convert_name(model, param, layer);

        rc = check_tensor(out, name, &info, err);
        add_sources(out, param, name);
        free(name);
    }
    return rc;
}

/* ---- the files ---- */

static int64_t layer_of(const char *ours)
{
    int64_t layer = -1;

    sscanf(ours, "layers.%" SCNd64, &layer);
    return layer;
}

/* Writes file number i; map: adds its tensors. */
static int write_weights(struct exporting *out, int i, json_t *map,
                         struct mtlm_error *err)
{
    const struct mtlm_model *model = &out->options.model;
    char *name = mtlm_shards_name(&out->shards, i);
    char *path = mtlm_sprintf("%s/%s", out->output.temporary, name);
    struct mtlm_safetensors_writer *writer =
        mtlm_safetensors_writer_create(path);
    int rc;

    mtlm_safetensors_writer_stop(writer, mtlm_tool_stopped);
    mtlm_safetensors_writer_metadata(writer, "format", "pt");
    for (int t = 0; t < out->n; t++) {
        struct source *s = &out->source[t];
        char *theirs;

        if (s->file != i)
            continue;
        theirs = mtlm_foreign_name_part(mtlm_foreign_name(model, s->param),
                                        layer_of(s->ours), s->part);
        mtlm_safetensors_writer_add_later(writer, theirs, dtype_of(out),
                                          s->dim[1] > 1 ? 2 : 1, s->dim,
                                          read_source, s);
        json_object_set_new(map, theirs, json_string(name));
        free(theirs);
    }
    rc = mtlm_safetensors_writer_commit(writer, err);
    mtlm_safetensors_writer_destroy(writer);
    free(path);
    free(name);
    return rc < 0 ? -1 : mtlm_tool_stopped(err);
}

static int write_json(const struct exporting *out, const char *name,
                      const json_t *json, struct mtlm_error *err)
{
    char *path = mtlm_sprintf("%s/%s", out->output.temporary, name);
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    const int rc = mtlm_output_file_write_text(path, text, err);

    free(text);
    free(path);
    return rc;
}

/* Writes the files, and the index of several. */
static int write_files(struct exporting *out, struct mtlm_error *err)
{
    json_t *map = json_object(), *index;
    int rc = 0;

    for (int i = 0; i < out->shards.n && rc == 0; i++)
        rc = write_weights(out, i, map, err);
    index = mtlm_shards_index(&out->shards, map);
    if (rc == 0 && out->shards.n > 1)
        rc = write_json(out, MTLM_CONVERT_INDEX, index, err);
    json_decref(index);
    return rc;
}

static int write_all(struct exporting *out, const json_t *config,
                     struct mtlm_error *err)
{
    int rc;

    mtlm_convert_begin(out->conversion);
    rc = mtlm_convert_output_claim(&out->output, out->conversion->all_bytes,
                                   err);
    if (rc == 0)
        rc = write_files(out, err);
    if (rc == 0)
        rc = write_json(out, MTLM_CONVERT_CONFIG, config, err);
    if (rc == 0)
        rc = mtlm_convert_output_commit(&out->output, err);
    if (rc < 0)
        mtlm_convert_output_discard(&out->output);
    return rc;
}

/* Hugging Face's BERT has one GELU; Megatron-LM's and ours may have two. */
static void print_gelu(const struct mtlm_model *m)
{
    if (m->family == MTLM_BERT && m->head == MTLM_HEAD_PRETRAINING
        && !m->exact_gelu && !m->tanh_head)
        printf("logits differ slightly in transformers: GELU uses tanh in the "
               "layers and erf in the output layer here, tanh in both there "
               "(hidden_act gelu_new), as --openai-gelu trains\n");
}

static void print_result(const struct exporting *out)
{
    const struct mtlm_conversion *c = out->conversion;
    char *first = mtlm_shards_name(&out->shards, 0);

    printf("%s: %s%s, config.json of %s: %d tensor%s, %.1f MB\n", c->output,
           first, out->shards.n > 1 ? " and others" : "", out->path, out->n,
           mtlm_plural(out->n), c->all_bytes / 1e6);
    free(first);
    print_gelu(&out->options.model);
}

/* Adds the names of a classification's classes, which also tell how many there
 * are. */
static void add_classes(json_t *config, const struct mtlm_task_entry *task)
{
    json_t *names, *numbers;

    if (!task || !task->class_name)
        return;
    names = json_object();
    numbers = json_object();
    for (int64_t i = 0; i < task->classes; i++) {
        char *number = mtlm_sprintf("%" PRId64, i);

        json_object_set_new(names, number, json_string(task->class_name(i)));
        json_object_set_new(numbers, task->class_name(i), json_integer(i));
        free(number);
    }
    json_object_set_new(config, "id2label", names);
    json_object_set_new(config, "label2id", numbers);
}

static int export_checkpoint(struct exporting *out, struct mtlm_error *err)
{
    const struct mtlm_conversion *c = out->conversion;
    json_t *config;
    int rc;

    if (open_checkpoint(out, err) < 0
        || mtlm_checkpoint_model(&out->manifest, out->path, &out->options, err)
               < 0)
        return -1;
    config = mtlm_huggingface_config(&out->options.model, err);
    if (!config)
        return mtlm_error_prefix(err, "%s", out->path);
    if (c->bf16)
        json_object_set_new(config, "torch_dtype", json_string("bfloat16"));
    mtlm_convert_add_tokens(config, &out->manifest, &out->options.model);
    add_classes(config, out->options.task);
    out->file = mtlm_calloc(out->manifest.files + 1, sizeof(*out->file));
    rc = list_sources(out, err);
    if (rc == 0)
        rc = write_all(out, config, err);
    json_decref(config);
    if (rc == 0)
        print_result(out);
    return rc;
}

int mtlm_convert_export(struct mtlm_conversion *conversion,
                        struct mtlm_error *err)
{
    struct exporting out = {
        .conversion = conversion,
        .shards = {.most = conversion->shard_bytes},
        .output = {.path = conversion->output, .shards = &out.shards}};
    const int rc = export_checkpoint(&out, err);

    for (int64_t f = 0; out.file && f < out.manifest.files; f++)
        mtlm_safetensors_close(out.file[f]);
    for (int i = 0; i < out.n; i++)
        free(out.source[i].ours);
    free(out.source);
    free(out.file);
    free(out.output.temporary);
    free(out.path);
    mtlm_manifest_free(&out.manifest);
    return rc;
}
