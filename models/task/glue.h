#ifndef MTLM_GLUE_H
#define MTLM_GLUE_H

#include "models/task/glue_layout.h"
#include "models/task/recipe.h"
#include "runtime/file/output_file.h"

/* Returns the pairs of files in GLUE's layouts, one file after the other; the
 * caller destroys the data.  A layout is known by the columns of the first
 * line:
 *
 *   MNLI   12 (train.tsv), 16 (dev_*.tsv), 10 (test_*.tsv: no class)
 *   QQP     6 (train.tsv, dev.tsv),         3 (test.tsv: no class)
 *
 * Pairs without a class have CLASS 0.  Files with and without classes do not
 * mix.  Published files of QQP have some rows with other columns or without a
 * question.  As in Megatron-LM such rows are left out, at most one in 100.  A
 * file without classes needs an answer to each row, so none is left out there.
 *
 * NULL on failure.  MTLM_EXIT_INPUT, with file and line: other columns or
 * names, an unknown class, an empty sentence, no row.  The first column must be
 * a whole number.  Memory: 4 bytes a token. */
struct mtlm_task_data *mtlm_glue_create(enum mtlm_glue task,
                                        const char *const *path, int paths,
                                        const struct mtlm_task_recipe *recipe,
                                        struct mtlm_error *err);

/* Writes the pairs' classes [data->items] as GLUE takes them: a line of names,
 * then column 1 of each row, a tab, and the name of the class.  The data was
 * read without training.  Fails like mtlm_output_file_write(). */
int mtlm_glue_write(struct mtlm_output_file *file,
                    const struct mtlm_task_data *data, const int64_t *class,
                    struct mtlm_error *err);

#endif /* MTLM_GLUE_H */
