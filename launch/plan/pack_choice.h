#ifndef MTLM_PACK_CHOICE_H
#define MTLM_PACK_CHOICE_H

/* --pack-weights: whether a job packs its weights (graph/build/packing.h). */

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* Sets wish->config.packing for the layout of choice, and the choice's need.
 * here: all ranks have instructions for bf16.  With auto, leaves the weights as
 * they are where the copies would not fit into memory.  Refuses
 * (MTLM_EXIT_USAGE) yes where weights cannot be packed. */
int mtlm_pack_choice_make(const struct mtlm_options *options,
                          struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts,
                          struct mtlm_choice *choice, bool here,
                          struct mtlm_error *err);

#endif /* MTLM_PACK_CHOICE_H */
