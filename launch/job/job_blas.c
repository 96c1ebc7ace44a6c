/* The library for products of matrices: a step of the start. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/job/job_blas.h"
#include "runtime/machine/blas.h"
#include "runtime/machine/blas_choice.h"
#include "runtime/machine/gpu_detect.h"

const char *mtlm_job_blas_wish(const struct mtlm_options *options)
{
    const char *variable = getenv("MTLM_BLAS");

    return strcmp(options->blas, "auto") == 0 && variable && *variable
               ? variable
               : options->blas;
}

/* Whether the wish is a name of a library, or a file. */
static bool is_library(const char *wish)
{
    for (int i = 0; i < MTLM_BLAS_NAMES; i++)
        if (strcmp(wish, mtlm_blas_name[i]) == 0)
            return true;
    return strchr(wish, '/') != NULL;
}

/* Whether the program is to choose. */
static bool is_choice(const char *wish)
{
    return strcmp(wish, "auto") == 0 || strcmp(wish, "measure") == 0;
}

/* Returns the choice of this machine: one for all runs of the process, those of
 * --seeds. */
static int choose(const char *wish)
{
    static int choice = -1;
    char note[1024];

    if (choice >= 0)
        return choice;
    choice =
        mtlm_blas_choice_find(strcmp(wish, "measure") == 0, note, sizeof(note));
    if (*note)
        fprintf(stderr, "%s\n", note);
    return choice;
}

/* Returns rank 0's choice on every rank, or the default where a rank's machine
 * lacks the library. */
static const char *choose_for_all(struct mtlm_job *job, const char *wish)
{
    const double choice = mtlm_ranks_rank(job->ranks) == 0 ? choose(wish) : 0;
    const char *library =
        mtlm_blas_name[(int) mtlm_ranks_sum(job->ranks, choice)];
    struct mtlm_blas_trial trial;
    struct mtlm_error why;
    bool works = true;

    if (!mtlm_blas_is_default(library))
        works = mtlm_blas_try(library, false, &trial, &why) == 0;
    if (!works)
        mtlm_warn("%s; all ranks take the default BLAS", why.text);
    return mtlm_ranks_min(job->ranks, works)
               ? library
               : mtlm_blas_name[MTLM_BLAS_DEFAULT];
}

/* Uses the library that the user wants. */
static int use_wish(const struct mtlm_options *options, const char *wish,
                    struct mtlm_error *err)
{
    struct mtlm_blas_trial trial;

    if (!is_library(wish))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s is '%s', it must be auto, measure, default, amx, "
            "openblas, blis, onednn, mkl, aocl or a file with "
            "a / in its name",
            wish == options->blas ? "--blas"
                                  : "the environment variable MTLM_BLAS",
            wish);
    if (!mtlm_blas_is_default(wish)
        && mtlm_blas_try(wish, false, &trial, err) < 0)
        return -1;
    return mtlm_blas_use(wish, err);
}

int mtlm_job_blas_choose(struct mtlm_job *job, struct mtlm_error *err)
{
    const char *wish = mtlm_job_blas_wish(&job->options);

    if (job->gpu >= 0 || job->options.cluster_file)
        return 0;
    return is_choice(wish) ? mtlm_blas_use(choose_for_all(job, wish), err)
                           : use_wish(&job->options, wish, err);
}

/* Hosts may have other versions, and OpenBLAS other kernels for other
 * processors.  Data-parallel replicas may differ so: the job goes on. */
int mtlm_job_blas_compare(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_error other;
    char text[256];

    (void) err;
    if (job->gpu >= 0 || job->options.cluster_file)
        snprintf(text, sizeof(text), "no products on CPUs");
    else
        mtlm_blas_describe(text, sizeof(text));
    if (mtlm_ranks_same(job->ranks, text, "multiplies by another BLAS",
                        MTLM_EXIT_USAGE, &other)
            < 0
        && mtlm_ranks_rank(job->ranks) == 0)
        mtlm_warn("%s; other ranks round otherwise", other.text);
    return 0;
}

int mtlm_job_blas_plan(const struct mtlm_options *options,
                       struct mtlm_error *err)
{
    const char *wish = mtlm_job_blas_wish(options);
    struct mtlm_gpus gpus;

    if (options->cluster_file)
        return 0;
    mtlm_gpu_detect_all(&gpus, options->no_gpu);
    if (gpus.count > 0) /* ranks without a GPU would leave */
        return 0;
    return is_choice(wish)
               ? mtlm_blas_use(mtlm_blas_name[mtlm_blas_choice_kept()], err)
               : use_wish(options, wish, err);
}
