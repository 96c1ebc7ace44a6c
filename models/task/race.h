#ifndef MTLM_RACE_H
#define MTLM_RACE_H

#include "models/task/race_object.h"
#include "models/task/recipe.h"
#include "runtime/file/output_file.h"

enum { MTLM_RACE_LONGEST = 128 }; /* tokens of a question with a choice */

/* Returns the questions of RACE; the caller destroys the data.  A path is a
 * directory whose *.txt files are taken in the order of their names, or one
 * file.  A line of a file is a JSON object: the text "article" and lists
 * "questions", "options" (four each) and "answers" ("A" to "D").
 *
 * A question is MTLM_RACE_CHOICES samples in a row, one for each choice; CLASS
 * of each is the right choice.  A is the question with the choice, which
 * replaces every "_" of the question, or follows the question.  A is cut after
 * MTLM_RACE_LONGEST tokens.  B is the article.  All is as in Megatron-LM, but
 * for the order of the files, which the system decides there.  Without
 * "answers", or with an empty list, CLASS is 0; articles with and without do
 * not mix.
 *
 * NULL on failure.  MTLM_EXIT_INPUT, with file and line: no such object, lists
 * of different lengths, a question without four options, an unknown answer;
 * an empty file; a directory without a *.txt file.  Memory: 4 bytes a token. */
struct mtlm_task_data *mtlm_race_create(const char *const *path, int paths,
                                        const struct mtlm_task_recipe *recipe,
                                        struct mtlm_error *err);

/* Writes the questions' choices [data->items], a line of JSON for each article:
 * {"id": ..., "answers": ["A", ...]}.  The id is the article's; an article
 * without one has the path and line of its file.  The data was read without
 * training.  Fails like mtlm_output_file_write(). */
int mtlm_race_write(struct mtlm_output_file *file,
                    const struct mtlm_task_data *data, const int64_t *choice,
                    struct mtlm_error *err);

#endif /* MTLM_RACE_H */
