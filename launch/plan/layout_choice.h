#ifndef MTLM_LAYOUT_CHOICE_H
#define MTLM_LAYOUT_CHOICE_H

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* The layout that the options ask for, or leave to be chosen. */

/* Notes that the job has one rank: the options give neither --world-size nor a
 * layout. */
void mtlm_layout_choice_note_alone(struct mtlm_options *options);

/* Returns the training that the options ask for, in the form of
 * graph/predict/choose.h, without data sources.  workers: maximum over
 * ranks. */
struct mtlm_wish mtlm_layout_choice_wish(const struct mtlm_options *options,
                                         int workers);

/* Adapts the wish to ranks that drive GPUs.  Samples stay whole unless the
 * options cut them: one sample fills a GPU, and cuDNN's attention needs whole
 * samples.  cudnn: all ranks can load cuDNN; otherwise cuDNN is neither
 * planned nor tried. */
void mtlm_layout_choice_wish_gpus(struct mtlm_wish *wish, bool cudnn);

/* Returns whether the options can use cuDNN and this rank can load the
 * library. */
bool mtlm_layout_choice_finds_cudnn(const struct mtlm_options *options);

/* Refuses (MTLM_EXIT_USAGE) heads without a kernel, or without a kernel of
 * cuDNN where the options ask for cuDNN. */
int mtlm_layout_choice_check_gpus(const struct mtlm_options *options,
                                  struct mtlm_error *err);

/* Returns the stages of a layout and their layers: "4, layers 2 2 2 1", or "8,
 * 2 on each rank (placement v), layers 8 x 3".  The caller frees the text. */
char *mtlm_layout_choice_stages_text(const struct mtlm_layout *layout,
                                     int64_t num_layers);

/* Sets the choice in options and wish, and notes a smaller micro batch.
 * Without a given global batch, the global batch is one micro batch of each
 * data-parallel rank, and the learning rate's clock follows.  Then settles the
 * schedule.  Returns -1 where an option contradicts the choice. */
int mtlm_layout_choice_take(struct mtlm_options *options,
                            struct mtlm_wish *wish,
                            const struct mtlm_choice *choice,
                            struct mtlm_error *err);

/* Sets the choice's need to that of wish, whose schedule is settled, and
 * returns true.  Returns false and sets nothing if the plan is the one of the
 * wish before, which the choice was made by. */
bool mtlm_layout_choice_plan_again(const struct mtlm_wish *before,
                                   const struct mtlm_wish *wish,
                                   const struct mtlm_hosts *hosts,
                                   struct mtlm_choice *choice);

/* Sets *choice for these hosts, and *compared, unless NULL, as
 * mtlm_choose_comparing().  Refuses (MTLM_EXIT_USAGE) a number of ranks that
 * cannot share the model. */
int mtlm_layout_choice_make(const struct mtlm_options *options,
                            const struct mtlm_wish *wish,
                            const struct mtlm_hosts *hosts,
                            struct mtlm_choice *choice,
                            struct mtlm_choices *compared,
                            struct mtlm_error *err);

/* Refuses (MTLM_EXIT_RESOURCE) a choice that does not fit, with the need and
 * the memory available. */
int mtlm_layout_choice_check_memory(const struct mtlm_options *options,
                                    const struct mtlm_choice *choice,
                                    const struct mtlm_hosts *hosts,
                                    struct mtlm_error *err);

#endif /* MTLM_LAYOUT_CHOICE_H */
