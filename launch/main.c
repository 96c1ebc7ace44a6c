/* mtlm-dag: reads the options, then answers a request or trains. */

#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/generate/generate.h"
#include "launch/options/options_answer.h"
#include "launch/options/options_parse.h"
#include "launch/simulate/fit.h"
#include "launch/simulate/simulate.h"
#include "launch/train/seeds.h"
#include "launch/train/start.h"
#include "launch/train/train.h"
#include "runtime/base/standard_output.h"
#include "runtime/comm/launcher.h"
#include "runtime/comm/watchdog.h"
#include "runtime/machine/blas_core.h"
#include "runtime/machine/environment.h"
#include "runtime/machine/signals.h"

/* If print: prints the error, and advice unless NULL.  Returns the exit
 * code. */
static int complain(const struct mtlm_error *err, const char *advice, int print)
{
    if (print)
        fprintf(stderr, "mtlm-dag: %s\n", err->text);
    if (print && advice)
        fprintf(stderr, "%s\n", advice);
    return err->code;
}

/* Rank 0 answers a request that is not training. */
static int answer(struct mtlm_options *options, int request)
{
    struct mtlm_error err;

    if (mtlm_launcher_rank() > 0)
        return MTLM_EXIT_OK;
    if (request == MTLM_REQUEST_PLAN)
        return mtlm_simulate_plan(options, stdout, &err) < 0
                   ? complain(&err, NULL, true)
                   : MTLM_EXIT_OK;
    if (request == MTLM_REQUEST_FIT)
        return mtlm_fit(options, stdout, &err) < 0 ? complain(&err, NULL, true)
                                                   : MTLM_EXIT_OK;
    if (request == MTLM_REQUEST_SIMULATE)
        return mtlm_simulate(options, stdout, &err) < 0
                   ? complain(&err, NULL, true)
                   : MTLM_EXIT_OK;
    if (options->notes)
        fprintf(stderr, "%s\n", options->notes);
    mtlm_options_answer(options, request, stdout);
    return MTLM_EXIT_OK;
}

/* seeds: takes the result of a run of --seeds; else NULL. */
static int train(struct mtlm_job *job, struct mtlm_seeds *seeds)
{
    struct mtlm_error err;
    int print, code;

    if (mtlm_train_start(job, &err, &print) < 0)
        code = complain(&err, job->advice, print);
    else if (job->leaves)
        code = MTLM_EXIT_OK;
    else
        code = job->prompts ? mtlm_generate(job) : mtlm_train(job);
    if (seeds && code == MTLM_EXIT_OK && !job->leaves)
        mtlm_seeds_take(seeds, job);
    mtlm_train_stop(job);
    return code;
}

/* Trains with each seed, until a run does not train all of its epochs or the
 * job is asked to stop.  The ranks agree after each run. */
static int train_seeds(struct mtlm_seeds *seeds, struct mtlm_job *all)
{
    bool more = true;
    int code = MTLM_EXIT_OK;

    for (int i = 0; i < seeds->n && more; i++) {
        struct mtlm_job job = {.ranks = all->ranks};

        mtlm_seeds_start(seeds, i, &job);
        code = train(&job, seeds);
        all->leaves = job.leaves;
        mtlm_options_free(&job.options);
        more = mtlm_seeds_go_on(seeds, i, all, &code);
    }
    if (more && mtlm_ranks_rank(all->ranks) == mtlm_ranks_size(all->ranks) - 1)
        mtlm_seeds_print(seeds, all->options.task);
    return code;
}

/* wrong: error in the options of this rank, or NULL. */
static int train_all(struct mtlm_job *job, const struct mtlm_error *wrong,
                     struct mtlm_seeds *seeds)
{
    struct mtlm_error err, mine;
    int print, rc;

    if (mtlm_ranks_agree(job->ranks, wrong, &err, &print) < 0)
        return complain(&err, NULL, print);
    rc = mtlm_seeds_compare(seeds, job->ranks, &mine);
    if (mtlm_ranks_agree(job->ranks, rc < 0 ? &mine : NULL, &err, &print) < 0)
        return complain(&err, NULL, print);
    return seeds->n > 0 ? train_seeds(seeds, job) : train(job, NULL);
}

int main(int argc, char **argv)
{
    struct mtlm_job job = {0};
    struct mtlm_seeds seeds = {0};
    struct mtlm_error err;
    int request, code;

    mtlm_standard_output_start();
    signal(SIGXFSZ, SIG_IGN); /* write() says that a file is too large */
    mtlm_blas_core_prepare(argc, argv);
    request = mtlm_options_parse(&job.options, argc, argv, &err);
    if (request == MTLM_REQUEST_NONE && job.options.n_seeds > 0)
        request = mtlm_seeds_begin(&seeds, &job.options, argc, argv, &err);
    if (((request == MTLM_REQUEST_PLAN || request == MTLM_REQUEST_SIMULATE
          || request == MTLM_REQUEST_FIT)
         && mtlm_environment_check_numbers(&err) < 0)
        || (request == MTLM_REQUEST_NONE && mtlm_environment_check(&err) < 0))
        request = -1;
    if (request > MTLM_REQUEST_NONE) {
        code = answer(&job.options, request);
    } else if (request < 0 && mtlm_launcher_rank() < 0) {
        code = complain(&err, NULL, true);
    } else {
        const int together = mtlm_launcher_together();

        /* With a wrong option, ranks start, too: they agree that one rank
         * prints the error.  A rank that left at once would end the others.
         * timeout_minutes 0, after a wrong option, stands for a default. */
        mtlm_watchdog_start(60 * job.options.timeout_minutes);
        job.ranks = mtlm_ranks_start(&argc, &argv);
        mtlm_signals_start();
        if (mtlm_launcher_apart(together, mtlm_ranks_size(job.ranks), &err) < 0)
            code = complain(&err, NULL, true); /* the processes share no
                                                * barrier */
        else
            code = train_all(&job, request < 0 ? &err : NULL, &seeds);
        /* mpirun kills all ranks as soon as one rank leaves with an error. */
        mtlm_ranks_barrier(job.ranks);
        if (job.leaves) /* the other ranks may train for long */
            mtlm_watchdog_stop();
        mtlm_ranks_stop(job.ranks);
        mtlm_watchdog_stop();
    }
    mtlm_seeds_end(&seeds);
    mtlm_options_free(&job.options);
    return code;
}
