/* --offload and --offload-dir: contradictions, and the directory. */

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

int mtlm_options_offload_check(const struct mtlm_options *options,
                               struct mtlm_error *err)
{
    const struct mtlm_options *o = options;

    if (o->offload == MTLM_OFFLOAD_NONE)
        return o->offload_dir
                       && mtlm_options_source(o, MTLM_OPT_OFFLOAD_DIR)
                              == MTLM_SOURCE_COMMAND_LINE
                   ? mtlm_error_set(err, MTLM_EXIT_USAGE,
                                    "--offload-dir needs --offload optimizer")
                   : 0;
    if (o->eval_only) /* no moments */
        return 0;
    if (o->simulate_file || o->cluster_file)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload reads and writes a disk, and --%s has "
                              "no model of one",
                              o->simulate_file ? "simulate" : "synthetic");
    if (o->replan_after > 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--replan-after copies weights and moments to "
                              "memory, and --offload leaves none for them");
    return check_dir(o, err);
}

int mtlm_options_offload_check_gpus(const struct mtlm_options *options,
                                    bool gpus, struct mtlm_error *err)
{
    if (options->offload == MTLM_OFFLOAD_NONE || options->eval_only || !gpus)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--offload works between host memory and disk only, "
                          "and this job trains on GPUs; --no-gpu trains on "
                          "CPUs");
}
