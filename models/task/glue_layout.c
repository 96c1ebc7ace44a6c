/* The columns and classes of GLUE's files. */

#include "config.h"

#include <inttypes.h>

#include "models/task/glue_layout.h"
#include "models/text/vocabulary.h"

enum { LAYOUTS = 3, CLASSES = 3 };

static const struct glue_task {
    const char *a, *b, *label; /* names in the first line */
    const char *classes[CLASSES];
    const char *columns; /* for messages */
    struct mtlm_glue_layout layout[LAYOUTS];
    bool may_skip; /* rows that are no pair */
} tasks[MTLM_GLUES] = {
    [MTLM_GLUE_MNLI] = {.a = "sentence1",
                        .b = "sentence2",
                        .label = "gold_label",
                        .classes = {"contradiction", "entailment", "neutral"},
                        .columns = "12 (train), 16 (dev) or 10 (test)",
                        .layout = {{12, 8, 9, 11}, {16, 8, 9, 15}, {10, 8, 9}}},
    [MTLM_GLUE_QQP] = {.a = "question1",
                       .b = "question2",
                       .label = "is_duplicate",
                       .classes = {"0", "1"},
                       .columns = "6 (train, dev) or 3 (test)",
                       .layout = {{6, 3, 4, 5}, {3, 1, 2}},
                       .may_skip = true},
};

const char *mtlm_glue_class(enum mtlm_glue task, int64_t class)
{
    return tasks[task].classes[class];
}

bool mtlm_glue_may_skip(enum mtlm_glue task)
{
    return tasks[task].may_skip;
}

/* Whether the first line has the names of a layout with as many columns. */
static bool has_names(const struct glue_task *task,
                      const struct mtlm_glue_layout *layout,
                      const struct mtlm_tsv *tsv)
{
    return mtlm_tsv_is(tsv, layout->a, task->a)
           && mtlm_tsv_is(tsv, layout->b, task->b)
           && (!layout->label || mtlm_tsv_is(tsv, layout->label, task->label));
}

const struct mtlm_glue_layout *mtlm_glue_layout_find(enum mtlm_glue number,
                                                     const struct mtlm_tsv *tsv,
                                                     struct mtlm_error *err)
{
    const struct glue_task *task = &tasks[number];

    for (int i = 0; i < LAYOUTS; i++) {
        const struct mtlm_glue_layout *layout = &task->layout[i];

        if (layout->columns != tsv->columns)
            continue;
        if (has_names(task, layout, tsv))
            return layout;
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "%s: line %" PRId64 ": expected names of columns, "
                       "\"%s\" as number %" PRId64 " and \"%s\" after it",
                       tsv->file.path, tsv->line, task->a, layout->a + 1,
                       task->b);
        return NULL;
    }
    mtlm_error_set(err, MTLM_EXIT_INPUT,
                   "%s: line %" PRId64 ": found %" PRId64
                   " columns, expected %s",
                   tsv->file.path, tsv->line, tsv->columns, task->columns);
    return NULL;
}

static bool is_number(const struct mtlm_tsv_column *column)
{
    for (int64_t i = 0; i < column->bytes; i++)
        if (column->text[i] < '0' || column->text[i] > '9')
            return false;
    return column->bytes > 0;
}

int mtlm_glue_layout_check(const struct mtlm_glue_layout *layout,
                           const struct mtlm_tsv *tsv, struct mtlm_error *err)
{
    const char *path = tsv->file.path;

    if (tsv->columns != layout->columns)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64 ": found %" PRId64
                              " columns, expected %" PRId64
                              " as in the first line",
                              path, tsv->line, tsv->columns, layout->columns);
    if (tsv->column[layout->a].bytes == 0 || tsv->column[layout->b].bytes == 0)
        return mtlm_error_set(
            err, MTLM_EXIT_INPUT,
            "%s: line %" PRId64 ": column %" PRId64 " is empty", path,
            tsv->line,
            1 + (tsv->column[layout->a].bytes ? layout->b : layout->a));
    return 0;
}

int mtlm_glue_layout_class(const struct mtlm_glue_layout *layout,
                           enum mtlm_glue number, const struct mtlm_tsv *tsv,
                           struct mtlm_error *err)
{
    const struct glue_task *task = &tasks[number];
    const struct mtlm_tsv_column *label = &tsv->column[layout->label];
    char quoted[MTLM_QUOTED_BYTES];

    if (!is_number(&tsv->column[0]))
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: line %" PRId64
                              ": column 1 is not a whole number",
                              tsv->file.path, tsv->line);
    if (!layout->label)
        return 0;
    for (int i = 0; i < CLASSES; i++)
        if (task->classes[i]
            && mtlm_tsv_is(tsv, layout->label, task->classes[i]))
            return i;
    return mtlm_error_set(
        err, MTLM_EXIT_INPUT,
        "%s: line %" PRId64 ": unknown class %s, expected %s, %s%s%s",
        tsv->file.path, tsv->line,
        mtlm_vocabulary_quote(quoted, label->text, label->bytes),
        task->classes[0], task->classes[1], task->classes[2] ? " or " : "",
        task->classes[2] ? task->classes[2] : "");
}
