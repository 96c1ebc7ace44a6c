#ifndef MTLM_DRY_RUN_H
#define MTLM_DRY_RUN_H

#include <stdio.h>

#include "launch/options/options.h"

/* --dry-run: prints memory, work and messages of a training, from the
 * descriptions of all ranks' graphs.  Allocates no tensors and runs nothing;
 * the ranks need not exist.  If the options leave layout or micro batch open,
 * chooses both and sets them in options.  Returns -1 and sets *err if the job
 * cannot be planned. */
int mtlm_dry_run(struct mtlm_options *options, FILE *out,
                 struct mtlm_error *err);

#endif /* MTLM_DRY_RUN_H */
