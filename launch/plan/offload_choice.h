#ifndef MTLM_OFFLOAD_CHOICE_H
#define MTLM_OFFLOAD_CHOICE_H

/* --offload: the layout of a job, and what of its state is offloaded: to a
 * disk, or from GPUs to host memory. */

#include "launch/plan/layout_choice.h"

/* As mtlm_layout_choice_make().  Then settles --offload in options and wish:
 *
 *   auto       nothing is offloaded where the job fits into memory.
 *              Else moments are, then gradients, then inputs of layers or
 *              weights, each only as far as memory demands.  Of offloaded
 *              inputs, and of smaller groups of microbatches that load the
 *              weights again, the way with fewer bytes is taken.
 *   all        everything; inputs of layers if that takes less memory
 *
 * Where more than moments is offloaded, each layer is a virtual stage, and
 * layers are recomputed, unless options say otherwise; ranks form a pipeline if
 * the layout is free.  A job that fits nowhere is left as the options say.
 *
 * Sets hosts->disk_need where state would fit if the disk, or the host memory
 * beside GPUs, had more room.  --offload-memory limits the machine's memory;
 * with GPUs, hosts->disk. */
int mtlm_offload_choice_make(struct mtlm_options *options,
                             struct mtlm_wish *wish, struct mtlm_hosts *hosts,
                             struct mtlm_choice *choice,
                             struct mtlm_choices *compared,
                             struct mtlm_error *err);

/* Returns the free bytes of the disk of offloaded state; 0: the job uses no
 * disk. */
double mtlm_offload_choice_room(const struct mtlm_options *options);

#endif /* MTLM_OFFLOAD_CHOICE_H */
