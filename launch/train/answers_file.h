#ifndef MTLM_ANSWERS_FILE_H
#define MTLM_ANSWERS_FILE_H

#include "launch/train/answers.h"

/* Writes gathered classes or choices to the file of --predictions, in the order
 * of the data.  -1 and MTLM_EXIT_IO: the file cannot be written. */
int mtlm_answers_file_write(const struct mtlm_answers *answers,
                            struct mtlm_error *err);

#endif /* MTLM_ANSWERS_FILE_H */
