#ifndef MTLM_OFFLOAD_CHOICE_H
#define MTLM_OFFLOAD_CHOICE_H

/* --offload: the layout of a job, and what of its state travels to a disk. */

#include "launch/plan/layout_choice.h"

/* As mtlm_layout_choice_make().  Then settles --offload in options and wish:
 *
 *   auto       nothing travels where the job fits into memory.  Else moments
 *              travel, then gradients, then weights, each only as far as memory
 *              demands.  At last, fewer microbatches go through a layer
 *              together.
 *   all        everything travels
 *
 * Where gradients or weights travel, each layer is a virtual stage, and layers
 * are recomputed, unless options say otherwise; ranks form a pipeline if the
 * layout is free.  A job that fits nowhere is left as the options say. */
int mtlm_offload_choice_make(struct mtlm_options *options,
                             struct mtlm_wish *wish, struct mtlm_hosts *hosts,
                             struct mtlm_choice *choice,
                             struct mtlm_choices *compared,
                             struct mtlm_error *err);

/* Returns the free bytes of the disk of offloaded state; 0: the job uses no
 * disk. */
double mtlm_offload_choice_room(const struct mtlm_options *options);

#endif /* MTLM_OFFLOAD_CHOICE_H */
