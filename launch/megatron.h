#ifndef MTLM_MEGATRON_H
#define MTLM_MEGATRON_H

#include <stdbool.h>

/* Names of Megatron-LM's options, without dashes, so that a command line
 * written for it is answered with what to change. */

/* What an old or other spelling is called today, or NULL. */
const char *mtlm_megatron_renamed(const char *name);

/* Whether it is one of Megatron-LM's options.  Those that this program has
 * are in its own table and need not be known here. */
bool mtlm_megatron_has(const char *name);

#endif /* MTLM_MEGATRON_H */
