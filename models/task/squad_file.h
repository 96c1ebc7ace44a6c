#ifndef MTLM_SQUAD_FILE_H
#define MTLM_SQUAD_FILE_H

#include "models/task/squad.h"
#include "runtime/base/error.h"

/* Adds the questions of a file to squad.  Fails like mtlm_squad_data_create().
 */
int mtlm_squad_file_read(struct mtlm_squad *squad, const char *path,
                         struct mtlm_error *err);

#endif /* MTLM_SQUAD_FILE_H */
