/* --seeds: one run after the other, then the median of their scores. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/job/job_finetune.h"
#include "launch/options/options_parse.h"
#include "launch/train/seeds.h"
#include "runtime/base/clock.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/base/standard_output.h"
#include "runtime/file/disk.h"
#include "runtime/machine/environment_copy.h"
#include "runtime/machine/signals.h"

int mtlm_seeds_begin(struct mtlm_seeds *seeds,
                     const struct mtlm_options *options, int argc, char **argv,
                     struct mtlm_error *err)
{
    const int n = options->n_seeds;
    const double limit = options->exit_duration_mins;

    *seeds = (struct mtlm_seeds){
        .options = mtlm_calloc(n + 1, sizeof(*seeds->options)),
        .seed = mtlm_calloc(n + 1, sizeof(*seeds->seed)),
        .best = mtlm_calloc(n + 1, sizeof(*seeds->best)),
        .environment = mtlm_environment_copy(),
        .deadline_ns =
            limit > 0 ? mtlm_now_ns() + (int64_t) (limit * 60e9) : 0};
    memcpy(seeds->seed, options->seed_of_run, n * sizeof(*seeds->seed));
    for (int i = 0; i < n; i++) {
        seeds->n++;
        if (mtlm_options_parse_seed(&seeds->options[i], argc, argv,
                                    seeds->seed[i], err)
            < 0)
            return -1;
    }
    return 0;
}

int mtlm_seeds_compare(const struct mtlm_seeds *seeds, struct mtlm_ranks *ranks,
                       struct mtlm_error *err)
{
    char *text = mtlm_strdup(seeds->n > 0 ? "--seeds" : "no --seeds");
    int rc;

    for (int i = 0; i < seeds->n; i++) {
        char number[24];

        snprintf(number, sizeof(number), "%" PRId64, seeds->seed[i]);
        text = mtlm_join(text, i > 0 ? "," : " ", number);
    }
    rc = mtlm_ranks_same(ranks, text, "was started with other settings",
                         MTLM_EXIT_USAGE, err);
    free(text);
    return rc;
}

/* Makes the directory above that of a seed.  Where that fails, the start of the
 * run says so. */
static void make_parent(const char *dir)
{
    char *parent = mtlm_strdup(dir), *above;

    *strrchr(parent, '/') = '\0';
    mkdir(parent, 0777);
    /* Its name must survive a loss of power, as those of checkpoints do. */
    above = mtlm_sprintf("%s/..", parent);
    mtlm_disk_sync_dir(above);
    free(above);
    free(parent);
}

void mtlm_seeds_start(struct mtlm_seeds *seeds, int i, struct mtlm_job *job)
{
    job->options = seeds->options[i];
    mtlm_environment_copy_restore(seeds->environment);
    job->deadline_ns = seeds->deadline_ns;
    seeds->options[i] = (struct mtlm_options){0};
    if (mtlm_ranks_rank(job->ranks) != 0)
        return;
    if (job->options.save_dir)
        make_parent(job->options.save_dir);
    printf("seed %" PRId64 ", run %d of %d\n", seeds->seed[i], i + 1, seeds->n);
    mtlm_standard_output_flush();
}

static void take_names(struct mtlm_seeds *seeds, const struct mtlm_job *job)
{
    const int n = job->best.scores;

    seeds->unit = mtlm_strdup(mtlm_job_finetune_score_unit(job));
    seeds->name = mtlm_calloc(n, sizeof(*seeds->name));
    for (int k = 0; k < n; k++)
        seeds->name[k] = mtlm_job_finetune_score_name(job, k);
}

void mtlm_seeds_take(struct mtlm_seeds *seeds, const struct mtlm_job *job)
{
    struct mtlm_best_checkpoint *best = &seeds->best[seeds->done];
    const size_t bytes = job->best.scores * sizeof(*best->score);

    if (job->best.scored < job->options.train_iters)
        return;
    if (seeds->done++ == 0)
        take_names(seeds, job);
    *best = job->best;
    best->score = memcpy(mtlm_calloc(1, bytes), job->best.score, bytes);
}

/* ---- between two runs ---- */

/* Returns the reason to stop that any rank has, enum mtlm_stop, or 0. */
static int reason_to_stop(struct mtlm_ranks *ranks)
{
    return (int) -mtlm_ranks_min(ranks, -mtlm_stop_requested());
}

/* Prints how to go on with run `next`. */
static void print_next(const struct mtlm_seeds *seeds, int next, bool saved)
{
    if (saved)
        mtlm_warn("the same command goes on with seed %" PRId64
                  ", run %d of %d",
                  seeds->seed[next], next + 1, seeds->n);
    else
        mtlm_warn("the same command begins anew with seed %" PRId64
                  "; with --save DIR it would go on",
                  seeds->seed[0]);
}

bool mtlm_seeds_go_on(const struct mtlm_seeds *seeds, int i,
                      const struct mtlm_job *all, int *code)
{
    const bool whole = mtlm_ranks_min(all->ranks, seeds->done == i + 1);
    const bool last = i + 1 == seeds->n;
    const int stop = whole && !last ? reason_to_stop(all->ranks) : 0;

    if (whole && !stop)
        return true;
    if (stop >= MTLM_STOP_SIGNAL)
        *code = MTLM_EXIT_INTERRUPTED;
    if (mtlm_ranks_rank(all->ranks) != 0 || all->leaves
        || (*code != MTLM_EXIT_OK && *code != MTLM_EXIT_INTERRUPTED))
        return false;
    if (stop)
        mtlm_warn("stopped by %s after run %d of %d",
                  stop >= MTLM_STOP_SIGNAL ? "a signal"
                                           : "--exit-duration-in-mins",
                  i + 1, seeds->n);
    print_next(seeds, whole ? i + 1 : i, all->options.save_dir != NULL);
    return false;
}

/* ---- the medians ---- */

/* Prints score k of a run. */
static void print_score(const struct mtlm_seeds *seeds, int k, double value)
{
    printf("%s%s %.2f%s", k > 0 ? " | " : "", seeds->name[k], value,
           seeds->unit);
}

static void print_median(const struct mtlm_seeds *seeds, int k)
{
    const int n = seeds->done;
    double *value = mtlm_calloc(n, sizeof(*value));

    for (int i = 0; i < n; i++)
        value[i] = seeds->best[i].score[k];
    qsort(value, n, sizeof(*value), mtlm_compare_double);
    printf("  %s: median %.2f%s, least %.2f%s, greatest %.2f%s\n",
           seeds->name[k], (value[(n - 1) / 2] + value[n / 2]) / 2, seeds->unit,
           value[0], seeds->unit, value[n - 1], seeds->unit);
    free(value);
}

void mtlm_seeds_print(const struct mtlm_seeds *seeds,
                      const struct mtlm_task_entry *task)
{
    const int scores = seeds->best[0].scores;

    printf("%s, %d seed%s, the best epoch of each:\n", task->name, seeds->done,
           mtlm_plural(seeds->done));
    for (int i = 0; i < seeds->done; i++) {
        printf("  seed %" PRId64 ", epoch %" PRId64 ": ", seeds->seed[i],
               seeds->best[i].epoch);
        for (int k = 0; k < scores; k++)
            print_score(seeds, k, seeds->best[i].score[k]);
        printf("\n");
    }
    for (int k = 0; k < scores; k++)
        print_median(seeds, k);
    printf("published:\n%s", task->published);
    mtlm_standard_output_flush();
}

void mtlm_seeds_end(struct mtlm_seeds *seeds)
{
    const int scores = seeds->done > 0 ? seeds->best[0].scores : 0;

    for (int k = 0; k < scores; k++)
        free(seeds->name[k]);
    for (int i = 0; i < seeds->n; i++)
        mtlm_options_free(&seeds->options[i]);
    for (int i = 0; i < seeds->done; i++)
        mtlm_best_checkpoint_free(&seeds->best[i]);
    mtlm_environment_copy_free(seeds->environment);
    free(seeds->name);
    free(seeds->unit);
    free(seeds->best);
    free(seeds->seed);
    free(seeds->options);
    *seeds = (struct mtlm_seeds){0};
}
