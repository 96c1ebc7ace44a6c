#ifndef MTLM_UNKNOWN_H
#define MTLM_UNKNOWN_H

#include "runtime/base/error.h"

/* Names that no option of this program has. */

/* Refuses an unknown option, written as dashes + name; dashes: "--", "-", or ""
 * for a key of a file.  The message names the usual spelling, an option of
 * Megatron-LM that this program lacks, or the nearest option.  Returns -1. */
int mtlm_unknown_refuse(const char *dashes, const char *name,
                        struct mtlm_error *err);

#endif /* MTLM_UNKNOWN_H */
