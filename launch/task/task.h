#ifndef MTLM_LAUNCH_TASK_H
#define MTLM_LAUNCH_TASK_H

/* The tasks of --task: what each measures, and what its --help teaches. */

#include <stdio.h>

#include "graph/build/program.h"
#include "models/model.h"
#include "models/task/recipe.h"
#include "models/task/scored_text.h"
#include "models/text/tokenizer.h"
#include "runtime/file/output_file.h"

/* Where a task's samples come from. */
struct mtlm_task_input {
    const struct mtlm_tokenizer *tokenizer;
    const char *path; /* of --valid-data */
    int64_t seq_length;
    int64_t overlap; /* --overlapping-eval */
    bool strict;     /* --strict-lambada */
};

/* What a job measured. */
struct mtlm_task_result {
    const struct mtlm_scored_text *text;
    double loss; /* sum over all scored tokens */
    double hits; /* samples whose scored tokens are all the model's answers */
};

/* A task.  All texts are lines that end with a newline. */
struct mtlm_task_entry {
    const char *name; /* as in --task */
    enum mtlm_family family;
    enum mtlm_measure measure;
    const char *measures;  /* what the numbers mean */
    const char *data;      /* where to get the data set; its licence and size */
    const char *commands;  /* how to run the task */
    const char *published; /* numbers of papers, printed after a result, too */

    /* Of fine-tuning: the head; its classes, or choices of a question; whether
     * all files of --valid-data have one score; whether --predictions takes
     * one of them only.  open() reads files; the caller destroys the data. NULL
     * with the reason in err. */
    enum mtlm_head_kind head;
    int64_t classes;
    bool together, apart;
    struct mtlm_task_data *(*open)(const char *const *path, int paths,
                                   const struct mtlm_task_recipe *recipe,
                                   struct mtlm_error *err);
    /* Returns the name of a class; NULL: the task has choices, or spans. */
    const char *(*class_name)(int64_t class);
    /* Appends the answers [data->items] to the file of --predictions; NULL: the
     * answers are spans. */
    int (*write)(struct mtlm_output_file *file,
                 const struct mtlm_task_data *data, const int64_t *answer,
                 struct mtlm_error *err);

    /* Of an evaluation alone: reads the samples; NULL with the reason in err.
     */
    struct mtlm_scored_text *(*read)(const struct mtlm_task_input *input,
                                     struct mtlm_error *err);
    /* Returns the result in a line, without newline; the caller frees it. */
    char *(*result)(const struct mtlm_task_result *result);
};

/* TASK(NAME, name): the entry mtlm_task_name stands in name.c.  A new task
 * takes a line here and a file. */
#define MTLM_TASK_LIST(TASK)                                                   \
    TASK(WIKITEXT103, wikitext103)                                             \
    TASK(LAMBADA, lambada)                                                     \
    TASK(MNLI, mnli)                                                           \
    TASK(QQP, qqp)                                                             \
    TASK(RACE, race)                                                           \
    TASK(SQUAD, squad)

#define TASK(NAME, name) extern const struct mtlm_task_entry mtlm_task_##name;
MTLM_TASK_LIST(TASK)
#undef TASK

/* The tasks, in the order of the list; the last is followed by NULL. */
extern const struct mtlm_task_entry *const mtlm_tasks[];

/* Returns the task of that name in any case of letters, or NULL. */
const struct mtlm_task_entry *mtlm_task_find(const char *name);

/* Prints what a user must know to run the task. */
void mtlm_task_help(const struct mtlm_task_entry *task, FILE *out);

#endif /* MTLM_LAUNCH_TASK_H */
