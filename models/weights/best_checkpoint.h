#ifndef MTLM_BEST_CHECKPOINT_H
#define MTLM_BEST_CHECKPOINT_H

#include "models/weights/checkpoint_dir.h"

/* The best checkpoint of a directory, and its scores: the file best.json.  It
 * lies beside the checkpoints, and is replaced as a whole. */
struct mtlm_best_checkpoint {
    int64_t iteration; /* of the best checkpoint; 0: none yet */
    int64_t epoch;     /* which ended with that iteration */
    int64_t scored;    /* last iteration with scores */
    uint64_t data;     /* hash of the samples that were scored */
    double *score;     /* [scores] of the best; the last one decides */
    int scores;
};

/* Writes DIR/best.json; name [best->scores] says what each score is.
 * MTLM_EXIT_IO. */
int mtlm_best_checkpoint_write(const struct mtlm_best_checkpoint *best,
                               const char *const *name, const char *dir,
                               struct mtlm_error *err);

/* Reads DIR/best.json; the caller frees *best.  Returns 1; 0: there is no such
 * file.  -1 and MTLM_EXIT_INPUT: the file is damaged; MTLM_EXIT_IO: unreadable.
 */
int mtlm_best_checkpoint_read(struct mtlm_best_checkpoint *best,
                              const char *dir, struct mtlm_error *err);

/* Finds the best checkpoint of dir.  -1 and MTLM_EXIT_INPUT: there is none. */
int mtlm_best_checkpoint_find(const char *dir, struct mtlm_checkpoint_id *found,
                              struct mtlm_error *err);

/* Frees the contents.  Does nothing for a zeroed struct. */
void mtlm_best_checkpoint_free(struct mtlm_best_checkpoint *best);

#endif /* MTLM_BEST_CHECKPOINT_H */
