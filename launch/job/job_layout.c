/* Layout and memory of the job: steps of the start, before any file is
 * opened. */

#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codelets/bf16_product.h"
#include "graph/order/order.h"
#include "graph/predict/activation_memory.h"
#include "launch/job/job_layout.h"
#include "launch/job/job_offload.h"
#include "launch/options/options_layout.h"
#include "launch/plan/advice.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/offload_choice.h"
#include "launch/plan/order_fit.h"
#include "launch/plan/pack_choice.h"
#include "launch/plan/plan_table.h"
#include "launch/plan/policy_choice.h"
#include "launch/plan/schedule_choice.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/base/text.h"

int mtlm_job_layout_check(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;

    return mtlm_options_layout_is_free(o)
               ? 0
               : mtlm_options_layout_check(o, mtlm_ranks_size(job->ranks), err);
}

/* Minimum and maximum over the ranks. */
static double least(struct mtlm_ranks *ranks, double value)
{
    return mtlm_ranks_min(ranks, (int64_t) value);
}

static double most(struct mtlm_ranks *ranks, double value)
{
    return -mtlm_ranks_min(ranks, -(int64_t) value);
}

/* Bytes for new processes on this host: threads take some of a limit of
 * addresses. */
static double available_bytes(struct mtlm_job *job)
{
    /* Beside workers: the engine, the saver, the progress, two of StarPU. */
    enum { OTHER_THREADS = 5 };
    const int disk = job->options.offload == MTLM_OFFLOAD_NONE
                         ? 0
                         : MTLM_JOB_OFFLOAD_THREADS;
    const double threads =
        mtlm_memory_for_threads(job->workers + OTHER_THREADS + disk);
    const double bytes = (double) mtlm_memory_available()
                         - mtlm_ranks_host_sum(job->ranks, threads);

    return bytes > 0 ? bytes : 0;
}

static void find_hosts(struct mtlm_job *job)
{
    struct mtlm_ranks *ranks = job->ranks;

    job->hosts = (struct mtlm_hosts){
        .ranks = mtlm_ranks_size(ranks),
        .per_host = most(ranks, mtlm_ranks_on_host(ranks)),
        /* A synthetic run needs almost no memory. */
        .available = job->options.cluster_file
                         ? INFINITY
                         : least(ranks, available_bytes(job)),
        .disk = least(ranks, mtlm_offload_choice_room(&job->options)),
        .process_bytes = most(ranks, mtlm_memory_resident())};
    if (job->gpu < 0)
        return;
    job->hosts.gpus = least(ranks, job->gpus.count);
    job->hosts.disk = job->hosts.available;
    job->hosts.available = job->gpu_bytes;
    job->hosts.unshared = job->gpu_unshared_bytes;
}

/* Refuses a job that does not fit; an order, with the action that does not. */
static int check_memory(const struct mtlm_job *job, struct mtlm_error *err)
{
    if (mtlm_order_fit_machines(&job->options, &job->wish, &job->hosts,
                                &job->choice, err)
        < 0)
        return -1;
    return mtlm_layout_choice_check_memory(&job->options, &job->choice,
                                           &job->hosts, err);
}

/* Settles the schedule of the layout.  Checks the memory again if the plan
 * differs from the one that the layout was chosen by. */
static int settle_schedule(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_wish before = job->wish;

    if (mtlm_policy_choice_take(&job->options, &job->wish, &job->hosts,
                                &job->choice, err)
        < 0)
        return -1;
    return mtlm_layout_choice_plan_again(&before, &job->wish, &job->hosts,
                                         &job->choice)
               ? check_memory(job, err)
               : 0;
}

/* Refuses more lanes in mode strict than this rank has workers.  The plan of
 * all ranks (schedule_choice.c) knows their maximum only. */
static int check_lanes(const struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_program_config config =
        mtlm_wish_config(&job->wish, job->layout.tp, job->layout.pp,
                         job->layout.dp, job->choice.micro_batch);
    const int workers = mtlm_job_computing_workers(job);
    int lanes;

    if (!config.order || !o->schedule_file || o->eval_only
        || config.follow != MTLM_FOLLOW_STRICT)
        return 0;
    lanes = mtlm_order_lanes(config.order, job->layout.pp_rank);
    if (lanes <= workers)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "%s has %d lanes for pipeline rank %d, and rank %d has %d worker%s; "
        "give --workers %d, or --schedule-mode hint",
        o->schedule_file, lanes, job->layout.pp_rank,
        mtlm_ranks_rank(job->ranks), workers, mtlm_plural(workers), lanes);
}

int mtlm_job_layout_choose(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_options *o = &job->options;
    const int workers = most(job->ranks, job->workers);
    const double way = mtlm_bf16_product_way();

    /* Ranks plan alike, whatever their processors. */
    if (least(job->ranks, way) != most(job->ranks, way))
        mtlm_bf16_product_forbid();
    find_hosts(job);
    job->wish = mtlm_layout_choice_wish(o, workers);
    if (o->cluster_file)
        mtlm_schedule_choice_wish_cluster(&job->wish, o, &job->cluster);
    if (job->gpu >= 0)
        mtlm_layout_choice_wish_gpus(
            &job->wish,
            mtlm_ranks_min(job->ranks, mtlm_layout_choice_finds_cudnn(o)));
    if (mtlm_offload_choice_make(o, &job->wish, &job->hosts, &job->choice, NULL,
                                 err)
            < 0
        || check_memory(job, err) < 0 || settle_schedule(job, err) < 0
        || mtlm_pack_choice_make(o, &job->wish, &job->hosts, &job->choice,
                                 mtlm_bf16_product_here(), err)
               < 0
        || (job->wish.config.packing != MTLM_PACKING_NO
            && check_memory(job, err) < 0))
        return -1;
    job->layout = mtlm_choice_config(&job->wish, &job->choice).layout;
    mtlm_layout_place(&job->layout, mtlm_ranks_rank(job->ranks));
    return check_lanes(job, err);
}

/* Prints the memory of each rank, unless the model is far too large. */
static void print_plan(const struct mtlm_job *job, FILE *out)
{
    const struct mtlm_choice *c = &job->choice;
    struct mtlm_program_config config;
    struct mtlm_outline outline;

    if (c->tp == 0 || c->least)
        return;
    config = mtlm_choice_config(&job->wish, c);
    mtlm_activation_memory_measure(&config);
    outline = mtlm_outline_create(&config, job->hosts.process_bytes);
    mtlm_plan_table_memory(&outline, out);
    fputc('\n', out);
    mtlm_outline_destroy(&outline);
    mtlm_activation_memory_free(&config.activation);
}

void mtlm_job_layout_advise(struct mtlm_job *job)
{
    struct mtlm_text text;
    FILE *out;
    char *commands;

    if (job->hosts.ranks == 0 || job->advice)
        return;
    commands =
        mtlm_advice(&job->options, &job->wish, &job->hosts, job->hosts.ranks);
    out = mtlm_text_open(&text);
    print_plan(job, out);
    fputs(commands, out);
    job->advice = mtlm_text_close(&text);
    free(commands);
}
