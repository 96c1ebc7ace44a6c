#ifndef MTLM_SQUAD_DATA_H
#define MTLM_SQUAD_DATA_H

#include "models/task/squad.h"
#include "runtime/base/error.h"

/* Reads files, one after the other; the caller destroys the data as samples.
 *
 * With recipe->training a question needs exactly one answer or, in SQuAD 2.0,
 * "is_impossible".  A question whose answer does not stand in its words is left
 * out.  Otherwise a question may have any number of answers, and START and END
 * are of the first one.  A file of a test has questions without a list of
 * answers, or all lists are empty and there is no "is_impossible".
 *
 * NULL on failure.  MTLM_EXIT_USAGE: seq_length has no room for a question.
 * MTLM_EXIT_INPUT, with file, line and question: the file is no JSON or not of
 * SQuAD, an answer outside of its context, an empty answer, no question.
 * Memory: 4 bytes a token; without training also all texts. */
struct mtlm_squad *mtlm_squad_data_create(const char *const *path, int paths,
                                          const struct mtlm_task_recipe *recipe,
                                          struct mtlm_error *err);

#endif /* MTLM_SQUAD_DATA_H */
