/* Foreign weights: opens them, checks that all tensors of the model are there,
 * and converts values between their layout and ours. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "models/weights/foreign.h"
#include "models/weights/huggingface.h"
#include "models/weights/llmc.h"
#include "runtime/base/memory.h"
#include "runtime/base/value16.h"

/* Sets what the tensors tell: a GPT-2 or a BLOOM saved without its head has no
 * prefix, and some BERTs have no binary head. */
static void detect_variant(struct mtlm_foreign *f)
{
    struct mtlm_model *model = &f->model;

    if (model->family == MTLM_GPT
        && (mtlm_foreign_find_name(f, "wte.weight")
            || mtlm_foreign_find_name(f, "word_embeddings.weight")))
        f->prefix = "transformer.";
    model->binary_head =
        model->family == MTLM_BERT
        && mtlm_foreign_find_name(f, "cls.seq_relationship.weight");
}

/* ---- checks ---- */

enum { SHAPE_TEXT = 24 * MTLM_SAFETENSORS_MAX_RANK };

static void shape_text(int rank, const int64_t dim[], char text[SHAPE_TEXT])
{
    int n = sprintf(text, "[");

    for (int i = 0; i < rank; i++)
        n += sprintf(text + n, "%s%" PRId64, i ? ", " : "", dim[i]);
    sprintf(text + n, "]");
}

static bool is_number(enum mtlm_safetensors_dtype dtype)
{
    return dtype == MTLM_SAFETENSORS_F32 || dtype == MTLM_SAFETENSORS_F16
           || dtype == MTLM_SAFETENSORS_BF16 || dtype == MTLM_SAFETENSORS_F64;
}

static int check_part(const struct mtlm_foreign *f, enum mtlm_param param,
                      int64_t layer, int part, struct mtlm_error *err)
{
    const struct mtlm_safetensors_tensor *t =
        mtlm_foreign_find(f, param, layer, part);
    int64_t dim[2];
    char want[SHAPE_TEXT], found[SHAPE_TEXT];
    int rank, rc;

    mtlm_foreign_part_shape(&f->model, param, f->linear, dim);
    rank = dim[1] == 1 ? 1 : 2;
    shape_text(rank, dim, want);
    if (!t) {
        char *name = mtlm_foreign_name_part(mtlm_foreign_name(&f->model, param),
                                            layer, part);

        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: expected tensor \"%s\" of %s, found none",
                            f->path, name, want);
        free(name);
        return rc;
    }
    shape_text(t->rank, t->dim, found);
    if (strcmp(want, found) != 0)
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: tensor \"%s\": expected a shape of %s, found %s", f->path,
            t->name, want, found);
    if (!is_number(t->dtype))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: tensor \"%s\": expected F32, F16, BF16 or "
                              "F64, found %s",
                              f->path, t->name,
                              mtlm_safetensors_dtype_name(t->dtype));
    return 0;
}

/* Checks that a second copy of a parameter is equal. */
static int check_tied(const struct mtlm_foreign *f, const char *name,
                      enum mtlm_param param, struct mtlm_error *err)
{
    const struct mtlm_safetensors_tensor *t = mtlm_foreign_find_name(f, name);
    const struct mtlm_safetensors_tensor *as =
        mtlm_foreign_find(f, param, 0, 0);

    if (!t
        || (t->bytes == as->bytes && memcmp(t->data, as->data, t->bytes) == 0))
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        "%s: tensor \"%s\" differs from \"%s\", to which it is "
        "tied in every model of this program",
        f->path, name, as->name);
}

static bool has_layer(const struct mtlm_foreign *f, int64_t layer)
{
    for (int p = 0; p < MTLM_PARAM_PER_LAYER; p++)
        if (mtlm_foreign_find(f, p, layer, 0))
            return true;
    return false;
}

/* Refuses more layers than config.json says: the model is another one. */
static int check_layers(const struct mtlm_foreign *f, struct mtlm_error *err)
{
    const int64_t layers = f->model.num_layers;
    int64_t found = layers;

    while (has_layer(f, found))
        found++;
    if (found == layers)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: expected tensors of %" PRId64
                          " layers, found some of %" PRId64,
                          f->path, layers, found);
}

static int check_tensors(const struct mtlm_foreign *f, struct mtlm_error *err)
{
    const struct mtlm_model *model = &f->model;

    if (mtlm_foreign_check_model(model, f->path, err) < 0
        || check_layers(f, err) < 0)
        return -1;
    for (int p = 0; p < MTLM_PARAM_COUNT; p++) {
        const struct mtlm_foreign_name *name = mtlm_foreign_name(model, p);
        const int64_t layers = p < MTLM_PARAM_PER_LAYER ? model->num_layers : 1;

        for (int64_t l = 0; name && l < layers; l++)
            for (int part = 0; part < 3 && name->part[part]; part++)
                if (check_part(f, p, l, part, err) < 0)
                    return -1;
    }
    if (model->family == MTLM_GPT)
        return check_tied(f, "lm_head.weight", MTLM_PARAM_WORD, err);
    return check_tied(f, "cls.predictions.decoder.weight", MTLM_PARAM_WORD, err)
                       < 0
                   || check_tied(f, "cls.predictions.decoder.bias",
                                 MTLM_PARAM_LM_BIAS, err)
                          < 0
               ? -1
               : 0;
}

/* ---- open and close ---- */

int mtlm_foreign_open(struct mtlm_foreign *foreign, const char *path,
                      struct mtlm_error *err)
{
    struct stat st;
    int rc;

    *foreign = (struct mtlm_foreign){.path = mtlm_strdup(path), .prefix = ""};
    rc = stat(path, &st) == 0 && S_ISDIR(st.st_mode)
             ? mtlm_huggingface_open(foreign, err)
             : mtlm_llmc_open(foreign, err);
    if (rc == 0)
        rc = mtlm_foreign_sort(foreign, err);
    if (rc == 0) {
        detect_variant(foreign);
        rc = check_tensors(foreign, err);
    }
    if (rc < 0)
        mtlm_foreign_close(foreign);
    return rc;
}

void mtlm_foreign_close(struct mtlm_foreign *foreign)
{
    mtlm_llmc_close(foreign);
    for (int i = 0; i < foreign->files; i++)
        mtlm_safetensors_close(foreign->file[i]);
    free(foreign->file);
    free(foreign->tensor);
    free(foreign->path);
    *foreign = (struct mtlm_foreign){0};
}

/* ---- values ---- */

static void widen_tensor(const struct mtlm_safetensors_tensor *t, float *to)
{
    const int64_t n = t->bytes / mtlm_safetensors_dtype_bytes(t->dtype);
    const enum mtlm_dtype type =
        t->dtype == MTLM_SAFETENSORS_BF16 ? MTLM_BF16 : MTLM_F16;
    const char *from = t->data;

    if (t->dtype == MTLM_SAFETENSORS_F32) {
        memcpy(to, from, t->bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        double value;

        if (t->dtype == MTLM_SAFETENSORS_F64) {
            memcpy(&value, from + i * sizeof(value), sizeof(value));
            to[i] = (float) value;
        } else {
            memcpy(&half, from + i * sizeof(half), sizeof(half));
            mtlm_value16_widen(type, &half, 1, &to[i]);
        }
    }
}

/* Returns the place of our row among their rows. */
static int64_t their_row(const struct mtlm_model *model, enum mtlm_param param,
                         int64_t row)
{
    const int64_t width = model->hidden_size / model->num_heads;

    if ((param != MTLM_PARAM_QKV_WEIGHT && param != MTLM_PARAM_QKV_BIAS)
        || model->positions == MTLM_POSITIONS_ALIBI)
        return row;
    return (row / width % 3 * model->num_heads + row / (3 * width)) * width
           + row % width;
}

void mtlm_foreign_read(const struct mtlm_foreign *foreign,
                       enum mtlm_param param, int64_t layer, float *ours)
{
    const struct mtlm_model *model = &foreign->model;
    const struct mtlm_param_info info = mtlm_param_info(model, param, 1);
    const bool turned =
        mtlm_foreign_name(model, param)->conv1d && !foreign->linear;
    const int64_t rows = info.rows, cols = info.cols;
    float *theirs = mtlm_calloc(rows * cols, sizeof(*theirs)), *at = theirs;

    for (int part = 0; part < 3; part++) {
        const struct mtlm_safetensors_tensor *t =
            mtlm_foreign_find(foreign, param, layer, part);

        if (!t)
            break;
        widen_tensor(t, at);
        at += t->bytes / mtlm_safetensors_dtype_bytes(t->dtype);
    }
    for (int64_t r = 0; r < rows; r++) {
        const int64_t from = their_row(model, param, r);

        for (int64_t c = 0; c < cols; c++)
            ours[r * cols + c] =
                theirs[turned ? c * rows + from : from * cols + c];
    }
    free(theirs);
}

void mtlm_foreign_part(const struct mtlm_model *model, enum mtlm_param param,
                       int part, const float *ours, float *theirs)
{
    const struct mtlm_foreign_name *name = mtlm_foreign_name(model, param);
    const struct mtlm_param_info info = mtlm_param_info(model, param, 1);
    const int64_t rows = info.rows / (name->part[1] ? 3 : 1), cols = info.cols;

    for (int64_t r = 0; r < info.rows; r++) {
        const int64_t to = their_row(model, param, r) - part * rows;

        for (int64_t c = 0; to >= 0 && to < rows && c < cols; c++)
            theirs[name->conv1d ? c * rows + to : to * cols + c] =
                ours[r * cols + c];
    }
}
