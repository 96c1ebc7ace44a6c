/* The tensors of opened foreign weights, found by name or by parameter. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/weights/foreign_tensors.h"
#include "runtime/base/memory.h"

const struct mtlm_safetensors_tensor *mtlm_foreign_find_name(
    const struct mtlm_foreign *f, const char *name)
{
    const size_t skip = strlen(f->prefix);
    const struct mtlm_safetensors_tensor key = {
        .name = strncmp(name, f->prefix, skip) == 0 ? name + skip : name};

    return bsearch(&key, f->tensor, f->tensors, sizeof(key),
                   mtlm_safetensors_compare_names);
}

int mtlm_foreign_sort(struct mtlm_foreign *f, struct mtlm_error *err)
{
    qsort(f->tensor, f->tensors, sizeof(*f->tensor),
          mtlm_safetensors_compare_names);
    for (int64_t t = 1; t < f->tensors; t++)
        if (strcmp(f->tensor[t].name, f->tensor[t - 1].name) == 0)
            return mtlm_error_set(err, MTLM_EXIT_INPUT,
                                  "%s: tensor \"%s\" is in two of its files",
                                  f->path, f->tensor[t].name);
    return 0;
}

const struct mtlm_safetensors_tensor *mtlm_foreign_find(
    const struct mtlm_foreign *foreign, enum mtlm_param param, int64_t layer,
    int part)
{
    const struct mtlm_foreign_name *name =
        mtlm_foreign_name(&foreign->model, param);
    const struct mtlm_safetensors_tensor *found;
    char *text;

    if (!name || !name->part[part])
        return NULL;
    text = mtlm_foreign_name_part(name, layer, part);
    found = mtlm_foreign_find_name(foreign, text);
    free(text);
    return found;
}

void mtlm_foreign_part_shape(const struct mtlm_model *model,
                             enum mtlm_param param, bool linear, int64_t dim[2])
{
    const struct mtlm_foreign_name *name = mtlm_foreign_name(model, param);
    const struct mtlm_param_info info = mtlm_param_info(model, param, 1);
    const bool turned = name->conv1d && !linear;
    const int64_t rows = info.rows / (name->part[1] ? 3 : 1);

    dim[0] = turned ? info.cols : rows;
    dim[1] = turned ? rows : info.cols;
}

int mtlm_foreign_check_model(const struct mtlm_model *model, const char *path,
                             struct mtlm_error *err)
{
    if (mtlm_model_check(model, err) == 0)
        return 0;
    err->code = MTLM_EXIT_INPUT; /* not an option's fault */
    return mtlm_error_prefix(err, "%s", path);
}

static void mark_used(const struct mtlm_foreign *f, enum mtlm_param param,
                      int64_t layer, bool *used)
{
    for (int part = 0; part < 3; part++) {
        const struct mtlm_safetensors_tensor *t =
            mtlm_foreign_find(f, param, layer, part);

        if (t)
            used[t - f->tensor] = true;
    }
}

int64_t mtlm_foreign_unused(const struct mtlm_foreign *foreign,
                            const char **first)
{
    bool *used = mtlm_calloc(foreign->tensors + 1, sizeof(*used));
    int64_t n = 0;

    for (int p = 0; p < MTLM_PARAM_COUNT; p++)
        for (int64_t l = 0;
             l < (p < MTLM_PARAM_PER_LAYER ? foreign->model.num_layers : 1);
             l++)
            mark_used(foreign, p, l, used);
    *first = NULL;
    for (int64_t i = foreign->tensors - 1; i >= 0; i--)
        if (!used[i] && !mtlm_foreign_name_is_extra(foreign->tensor[i].name)) {
            *first = foreign->tensor[i].name;
            n++;
        }
    free(used);
    return n;
}
