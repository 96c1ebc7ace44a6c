/* --offload, --offload-dir and --offload-host: contradictions, and the
 * directory. */

#include "config.h"

#include <stdlib.h>

#include "launch/options/options_offload.h"
#include "runtime/base/memory.h"
#include "runtime/file/offload_dir.h"

char *mtlm_options_offload_dir(const struct mtlm_options *options)
{
    return options->offload_dir ? mtlm_strdup(options->offload_dir)
                                : mtlm_offload_dir_default();
}

static int check_dir(const struct mtlm_options *o, struct mtlm_error *err)
{
    char *dir = mtlm_options_offload_dir(o);
    const bool known = dir != NULL;

    free(dir);
    return known ? 0
                 : mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--offload needs --offload-dir DIR: neither "
                                  "XDG_CACHE_HOME nor HOME is set");
}

static int check_sizes(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (o->offload == MTLM_OFFLOAD_NONE
        && mtlm_options_source(o, MTLM_OPT_OFFLOAD_DIR)
               == MTLM_SOURCE_COMMAND_LINE)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload-dir is without effect with --offload "
                              "none");
    if (o->offload == MTLM_OFFLOAD_NONE && o->offload_host)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload-host is without effect with --offload "
                              "none");
    if (o->offload != MTLM_OFFLOAD_AUTO
        && mtlm_options_source(o, MTLM_OPT_OFFLOAD_MEMORY)
               == MTLM_SOURCE_COMMAND_LINE)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload-memory is for --offload auto");
    return 0;
}

/* Refuses what gradients and weights on a disk cannot hold with. */
static int check_all(const struct mtlm_options *o, struct mtlm_error *err)
{
    if (o->weight_staleness && !o->eval_only)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--weight-staleness 1 keeps two versions of the "
                              "weights in memory, and --offload all none");
    if (o->placement == MTLM_PLACEMENT_POLICY)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload all goes through the stages in turn, "
                              "and --placement policy leaves the place to the "
                              "scheduling policy");
    return 0;
}

bool mtlm_options_offload_is_planned(const struct mtlm_options *options)
{
    return options->request == MTLM_REQUEST_PLAN && options->cluster_file
           && options->world_size > 0 && options->times.stages == 0;
}

int mtlm_options_offload_check(const struct mtlm_options *options,
                               struct mtlm_error *err)
{
    const struct mtlm_options *o = options;
    const bool all = o->offload == MTLM_OFFLOAD_ALL;

    if (check_sizes(o, err) < 0 || (all && check_all(o, err) < 0))
        return -1;
    if (o->offload == MTLM_OFFLOAD_NONE || o->offload == MTLM_OFFLOAD_AUTO
        || (o->eval_only && !all)) /* no moments */
        return 0;
    if (mtlm_options_offload_is_planned(o))
        return 0;
    if (o->cluster_file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload reads and writes a disk, and "
                              "--synthetic runs without one; --simulate has "
                              "its times");
    if (o->replan_after > 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--replan-after copies weights and moments to "
                              "memory, and --offload leaves none for them");
    return o->simulate_file ? 0 : check_dir(o, err);
}

int mtlm_options_offload_check_gpus(const struct mtlm_options *options,
                                    bool gpus, struct mtlm_error *err)
{
    if (!gpus && options->offload_host)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload-host keeps state of GPUs in host "
                              "memory, and this job trains on CPUs; "
                              "--offload-dir DIR names a disk");
    if (gpus
        && mtlm_options_source(options, MTLM_OPT_OFFLOAD_DIR)
               == MTLM_SOURCE_COMMAND_LINE)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload-dir names a disk, and the state of "
                              "this job's GPUs is offloaded to host memory; "
                              "--no-gpu trains on CPUs");
    return 0;
}
