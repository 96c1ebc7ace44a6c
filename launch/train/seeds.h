#ifndef MTLM_SEEDS_H
#define MTLM_SEEDS_H

/* The runs of --seeds: options and results of each, and the medians. */

#include "launch/job/job.h"

struct mtlm_seeds {
    int n;                             /* runs */
    struct mtlm_options *options;      /* [n] until a job takes them */
    int64_t *seed;                     /* [n] */
    int done;                          /* runs with results */
    struct mtlm_best_checkpoint *best; /* [done] */
    char **name, *unit;                /* of each score of a run */
};

/* Reads the options of each run from the command line whose options are given.
 * The caller ends with mtlm_seeds_end(), in any case.  -1 and *err as
 * mtlm_options_parse(). */
int mtlm_seeds_begin(struct mtlm_seeds *seeds,
                     const struct mtlm_options *options, int argc, char **argv,
                     struct mtlm_error *err);

/* Gives job the options of run i.  Rank 0 makes the directory of --save, and
 * prints which seed follows. */
void mtlm_seeds_start(struct mtlm_seeds *seeds, int i, struct mtlm_job *job);

/* Takes the result of a run that has ended, if it has trained all of its
 * epochs. */
void mtlm_seeds_take(struct mtlm_seeds *seeds, const struct mtlm_job *job);

/* Prints the scores of each run and their medians. */
void mtlm_seeds_print(const struct mtlm_seeds *seeds,
                      const struct mtlm_task_entry *task);

/* Frees everything.  Does nothing for a zeroed struct. */
void mtlm_seeds_end(struct mtlm_seeds *seeds);

#endif /* MTLM_SEEDS_H */
