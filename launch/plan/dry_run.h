#ifndef MTLM_DRY_RUN_H
#define MTLM_DRY_RUN_H

#include <stdio.h>

#include "launch/options/options.h"

/* --dry-run: prints what training would take, from the descriptions of all
 * ranks' graphs.  Nothing is allocated for it and nothing runs; the ranks need
 * not exist.  Layout and micro batch are chosen where the options leave it,
 * and become part of them.  -1 where there is nothing to plan. */
int mtlm_dry_run(struct mtlm_options *options, FILE *out,
                 struct mtlm_error *err);

#endif /* MTLM_DRY_RUN_H */
