/* Pairs of sentences from files of GLUE. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include <xxhash.h>

#include "models/task/clean_text.h"
#include "models/task/glue.h"
#include "models/task/pair.h"
#include "models/task/token_lists.h"
#include "runtime/base/memory.h"

struct glue {
    struct mtlm_task_data data;
    enum mtlm_glue task;
    struct mtlm_task_recipe recipe;
    struct mtlm_token_lists text; /* of pair i: lists 2 i and 2 i + 1 */
    struct mtlm_word_cache *cache;
    int8_t *label; /* [items], room for `room` */
    char **index;  /* [items], column 1; NULL with recipe.training */
    int64_t room;
};

static void add_text(struct glue *glue, const struct mtlm_tsv_column *column)
{
    int64_t bytes;
    char *text = mtlm_clean_text(column->text, column->bytes, &bytes);

    mtlm_token_lists_add(&glue->text, glue->recipe.tokenizer, glue->cache, text,
                         bytes, glue->recipe.seq_length);
    free(text);
}

static void make_room(struct glue *glue)
{
    const size_t room = 2 * (size_t) glue->data.items + 1024;

    if (glue->data.items < glue->room)
        return;
    glue->room = (int64_t) room;
    glue->label = mtlm_realloc(glue->label, room, sizeof(*glue->label));
    if (!glue->recipe.training)
        glue->index = mtlm_realloc(glue->index, room, sizeof(*glue->index));
}

static int add_pair(struct glue *glue, const struct mtlm_tsv *tsv,
                    const struct mtlm_glue_layout *layout,
                    struct mtlm_error *err)
{
    const int label = mtlm_glue_layout_class(layout, glue->task, tsv, err);
    const int64_t i = glue->data.items;

    if (label < 0)
        return -1;
    make_room(glue);
    glue->label[i] = (int8_t) label;
    if (glue->index)
        glue->index[i] = mtlm_sprintf("%.*s", (int) tsv->column[0].bytes,
                                      tsv->column[0].text);
    add_text(glue, &tsv->column[layout->a]);
    add_text(glue, &tsv->column[layout->b]);
    glue->data.items++;
    return 0;
}

/* Adds the rows behind the first line. */
static int add_rows(struct glue *glue, struct mtlm_tsv *tsv,
                    const struct mtlm_glue_layout *layout,
                    struct mtlm_error *err)
{
    const int64_t before = glue->data.items;
    struct mtlm_error first = {0};
    int64_t skipped = 0;

    while (mtlm_tsv_next(tsv))
        if (mtlm_glue_layout_check(layout, tsv, skipped ? NULL : &first) < 0)
            skipped++;
        else if (add_pair(glue, tsv, layout, err) < 0)
            return -1;
    glue->data.left_out += skipped;
    if (skipped > 0
        && (!mtlm_glue_may_skip(glue->task) || !layout->label
            || 100 * skipped > glue->data.items - before))
        return mtlm_error_set(err, first.code, "%s", first.text);
    if (glue->data.items == before)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64
                              ": the file ends without a pair of sentences",
                              tsv->file.path, tsv->line);
    return 0;
}

static int add_file(struct glue *glue, const char *path, bool first,
                    struct mtlm_error *err)
{
    const struct mtlm_glue_layout *layout = NULL;
    struct mtlm_tsv tsv;
    int rc = -1;

    if (mtlm_tsv_open(&tsv, path, err) < 0)
        return -1;
    if (!mtlm_tsv_next(&tsv))
        mtlm_error_set(err, MTLM_EXIT_INPUT, "%s: the file is empty", path);
    else
        layout = mtlm_glue_layout_find(glue->task, &tsv, err);
    if (layout && !first && glue->data.labelled != (layout->label > 0)) {
        mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: line %" PRId64 ": the file has %s, unlike the files "
            "before it",
            path, tsv.line, layout->label ? "classes" : "no classes");
    } else if (layout) {
        glue->data.labelled = layout->label > 0;
        rc = add_rows(glue, &tsv, layout, err);
    }
    mtlm_tsv_close(&tsv);
    return rc;
}

static void read_sample(struct mtlm_samples *samples, int64_t sample,
                        enum mtlm_field field, int64_t first, int64_t n,
                        int32_t *values)
{
    const struct glue *glue = (const struct glue *) samples;
    const int64_t i = mtlm_task_item(&glue->recipe, glue->data.items, sample);
    struct mtlm_pair pair;

    pair.a = mtlm_token_lists_get(&glue->text, 2 * i, &pair.a_tokens);
    pair.b = mtlm_token_lists_get(&glue->text, 2 * i + 1, &pair.b_tokens);
    mtlm_pair_read(&pair, glue->recipe.tokenizer->bert, samples->seq_length,
                   field, first, n, values);
    if (field == MTLM_FIELD_CLASS && n > 0)
        values[0] = glue->label[i];
}

static void destroy(struct mtlm_samples *samples)
{
    struct glue *glue = (struct glue *) samples;

    mtlm_token_lists_free(&glue->text);
    for (int64_t i = 0; glue->index && i < glue->data.items; i++)
        free(glue->index[i]);
    free(glue->index);
    free(glue->label);
    free(glue);
}

struct mtlm_task_data *mtlm_glue_create(enum mtlm_glue task,
                                        const char *const *path, int paths,
                                        const struct mtlm_task_recipe *recipe,
                                        struct mtlm_error *err)
{
    struct glue *glue = mtlm_calloc(1, sizeof(*glue));
    struct mtlm_samples *samples = &glue->data.samples;
    int rc = 0;

    *samples = (struct mtlm_samples){.seq_length = recipe->seq_length,
                                     .read = read_sample,
                                     .destroy = destroy};
    glue->task = task;
    glue->recipe = *recipe;
    glue->cache = mtlm_word_cache_create();
    for (int i = 0; i < paths && rc == 0; i++)
        rc = add_file(glue, path[i], i == 0, err);
    mtlm_word_cache_destroy(glue->cache);
    samples->epoch = glue->data.items;
    if (rc == 0) {
        glue->data.hash = mtlm_token_lists_hash(
            &glue->text, XXH3_64bits(glue->label, (size_t) samples->epoch));
        return &glue->data;
    }
    destroy(samples);
    return NULL;
}

int mtlm_glue_write(struct mtlm_output_file *file,
                    const struct mtlm_task_data *data, const int64_t *class,
                    struct mtlm_error *err)
{
    const struct glue *glue = (const struct glue *) data;
    int rc = mtlm_output_file_print(file, err, "index\tprediction\n");

    for (int64_t i = 0; i < data->items && rc == 0; i++)
        rc = mtlm_output_file_print(file, err, "%s\t%s\n", glue->index[i],
                                    mtlm_glue_class(glue->task, class[i]));
    return rc;
}
