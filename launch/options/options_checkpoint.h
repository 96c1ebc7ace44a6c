#ifndef MTLM_OPTIONS_CHECKPOINT_H
#define MTLM_OPTIONS_CHECKPOINT_H

#include "launch/options/options.h"
#include "models/weights/manifest.h"

/* The checkpoint of --load, as far as the options go: each process reads the
 * newest manifest by itself, before the ranks know each other. */
struct mtlm_options_checkpoint {
    char *path;                    /* of the checkpoint; NULL: there is none */
    struct mtlm_manifest manifest; /* of that path */
};

/* Finds the newest checkpoint of options->load_dir with a whole manifest, and
 * takes from it what no other source gives; sets options->options_path.  Reads
 * no weights.  The caller frees *found.  -1 and MTLM_EXIT_IO: a manifest is
 * unreadable.  MTLM_EXIT_INPUT: a stored text is no value of its option.
 * MTLM_EXIT_USAGE: an option that is given contradicts the checkpoint. */
int mtlm_options_checkpoint_take(struct mtlm_options *options,
                                 struct mtlm_options_checkpoint *found,
                                 struct mtlm_error *err);

/* Compares the resolved options with the checkpoint found. */
int mtlm_options_checkpoint_compare(const struct mtlm_options *options,
                                    const struct mtlm_options_checkpoint *found,
                                    struct mtlm_error *err);

/* Frees the contents.  Does nothing for a zeroed struct. */
void mtlm_options_checkpoint_free(struct mtlm_options_checkpoint *found);

/* Writes why neither the checkpoint nor a preset gives the option, which is
 * missing: ", and DIR/iter_0000020 does not hold it"; ", and --load DIR has no
 * checkpoint that holds it"; ", and a fine-tuning takes none from a
 * pretraining", or "from a preset".  "" without --load.  Returns text. */
enum { MTLM_OPTIONS_CHECKPOINT_WHY = 256 };
const char *mtlm_options_checkpoint_why(const struct mtlm_options *options,
                                        enum mtlm_option_id option,
                                        char text[MTLM_OPTIONS_CHECKPOINT_WHY]);

#endif /* MTLM_OPTIONS_CHECKPOINT_H */
