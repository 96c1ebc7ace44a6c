#ifndef MTLM_LAYOUT_CHOICE_H
#define MTLM_LAYOUT_CHOICE_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* The layout that the options ask for, or leave to be chosen. */

/* What is to be trained, as graph/predict/choose.h wants to know it; without
 * the data sources.  workers: of the rank that has most. */
struct mtlm_wish mtlm_layout_wish(const struct mtlm_options *options,
                                  int workers);

/* The ranks drive GPUs: unless the options say otherwise samples stay whole,
 * as a GPU is filled by one and cuDNN's attention wants it so.  cudnn: all of
 * them can load it; else its workspace is not planned, nor is it tried. */
void mtlm_layout_wish_gpus(struct mtlm_wish *wish, bool cudnn);

/* Whether this rank can load a cuDNN that the options have a use for. */
bool mtlm_layout_finds_cudnn(const struct mtlm_options *options);

/* Refuses (MTLM_EXIT_USAGE) heads that no kernel has, or cuDNN has none for if
 * nothing else is to be taken. */
int mtlm_layout_check_gpus(const struct mtlm_options *options,
                           struct mtlm_error *err);

/* The stages of a layout and their layers: "4, layers 2 2 2 1", or "8, 2 on
 * each rank (placement v), layers 8 x 3".  The caller frees it. */
char *mtlm_layout_stages_text(const struct mtlm_layout *layout,
                              int64_t num_layers);

/* Makes the choice part of the options and of the wish: notes a smaller micro
 * batch; where no global batch was given it is one micro batch of every
 * data-parallel rank, and the clock of the learning rate follows from it; then
 * settles the schedule.  -1: something does not go with it. */
int mtlm_layout_take(struct mtlm_options *options, struct mtlm_wish *wish,
                     const struct mtlm_choice *choice, struct mtlm_error *err);

/* The choice for these hosts, or the reason why there is none
 * (MTLM_EXIT_USAGE): so many ranks cannot share the model. */
int mtlm_layout_choose(const struct mtlm_options *options,
                       const struct mtlm_wish *wish,
                       const struct mtlm_hosts *hosts,
                       struct mtlm_choice *choice, struct mtlm_error *err);

/* Refuses (MTLM_EXIT_RESOURCE, need and have) what does not fit. */
int mtlm_layout_check_memory(const struct mtlm_options *options,
                             const struct mtlm_choice *choice,
                             const struct mtlm_hosts *hosts,
                             struct mtlm_error *err);

#endif /* MTLM_LAYOUT_CHOICE_H */
