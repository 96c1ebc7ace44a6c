#ifndef MTLM_UNKNOWN_H
#define MTLM_UNKNOWN_H

#include "runtime/base/error.h"

/* Names that are no option of this program. */

/* Refuses name, written as dashes + name ("--", "-", or "" for a key of a
 * file): it is another spelling, an option of Megatron-LM that this program
 * lacks, or perhaps a typing error, whose nearest option the message names.
 * Returns -1. */
int mtlm_unknown_refuse(const char *dashes, const char *name,
                        struct mtlm_error *err);

#endif /* MTLM_UNKNOWN_H */
