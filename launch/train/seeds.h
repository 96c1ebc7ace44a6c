#ifndef MTLM_SEEDS_H
#define MTLM_SEEDS_H

/* The runs of --seeds: options and results of each, and the medians. */

#include "launch/job/job.h"

struct mtlm_seeds {
    int n;                             /* runs */
    struct mtlm_options *options;      /* [n] until a job takes them */
    int64_t *seed;                     /* [n] */
    int64_t deadline_ns;               /* of the time limit; 0: none */
    int done;                          /* runs with results */
    struct mtlm_best_checkpoint *best; /* [done] */
    char **name, *unit;                /* of each score of a run */
    char **environment;                /* StarPU's variables before run 0 */
};

/* Reads the options of each run from the command line whose options are given.
 * The caller ends with mtlm_seeds_end(), in any case.  -1 and *err as
 * mtlm_options_parse(). */
int mtlm_seeds_begin(struct mtlm_seeds *seeds,
                     const struct mtlm_options *options, int argc, char **argv,
                     struct mtlm_error *err);

/* Refuses ranks that have other seeds.  Collective. */
int mtlm_seeds_compare(const struct mtlm_seeds *seeds, struct mtlm_ranks *ranks,
                       struct mtlm_error *err);

/* Gives job the options of run i.  Rank 0 makes the directory of --save, and
 * prints which seed follows. */
void mtlm_seeds_start(struct mtlm_seeds *seeds, int i, struct mtlm_job *job);

/* Takes the result of a run that has ended, if it has trained all of its
 * epochs. */
void mtlm_seeds_take(struct mtlm_seeds *seeds, const struct mtlm_job *job);

/* Returns whether the job goes on after run i, to the next run or to the
 * medians: run i has results, and no signal and no time limit forbids the next
 * run.  Otherwise rank 0 prints how to go on, unless *code is an error.  *code:
 * exit code of run i; changes if a signal ends the job here.  Collective. */
bool mtlm_seeds_go_on(const struct mtlm_seeds *seeds, int i,
                      const struct mtlm_job *all, int *code);

/* Prints the scores of each run and their medians. */
void mtlm_seeds_print(const struct mtlm_seeds *seeds,
                      const struct mtlm_task_entry *task);

/* Frees everything.  Does nothing for a zeroed struct. */
void mtlm_seeds_end(struct mtlm_seeds *seeds);

#endif /* MTLM_SEEDS_H */
