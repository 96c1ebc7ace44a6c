#ifndef MTLM_PREDICTIONS_H
#define MTLM_PREDICTIONS_H

#include "models/task/squad.h"

/* Writes answers [squad->questions] as a JSON object of ids and texts, which
 * the official scripts of SQuAD read.  NULL is a question without prediction;
 * it is left out.  squad was read without training.  Fails like
 * mtlm_output_file_write(). */
int mtlm_predictions_write(const char *path, const struct mtlm_squad *squad,
                           char *const *answer, struct mtlm_error *err);

/* Writes the differences [squad->questions] of mtlm_squad_answer() as a JSON
 * object of ids and numbers: the file of --na-prob-file of the script of SQuAD
 * 2.0. */
int mtlm_predictions_write_differences(const char *path,
                                       const struct mtlm_squad *squad,
                                       const double *difference,
                                       struct mtlm_error *err);

#endif /* MTLM_PREDICTIONS_H */
