/* --simulate with --offload: what travels on a described machine. */

#include "config.h"

#include <math.h>

#include "launch/plan/offload_choice.h"
#include "launch/simulate/simulate_offload.h"

/* Returns the same hosts, whose ranks share memory and disk. */
static struct mtlm_hosts hosts_of_cpus(const struct mtlm_hosts *hosts,
                                       const struct mtlm_options *options,
                                       const struct mtlm_cluster *cluster)
{
    const bool limited = cluster->memory_bytes > 0 && !options->ignore_memory;

    return (struct mtlm_hosts){
        .ranks = hosts->ranks,
        .per_host = hosts->per_host,
        .available = limited ? cluster->memory_bytes
                                   * fmin(hosts->ranks, hosts->per_host)
                             : INFINITY,
        .disk = INFINITY};
}

/* Returns whether --offload auto has no reason to look at a disk. */
static bool needs_no_disk(const struct mtlm_options *options,
                          const struct mtlm_cluster *cluster)
{
    const bool limited =
        cluster->memory_bytes > 0 || options->offload_memory > 0;

    return cluster->disk.read_bytes_per_s == 0 || options->profile
           || options->ignore_memory || !limited;
}

/* Refuses what has no model of a disk. */
static int check_outputs(const struct mtlm_options *options,
                         struct mtlm_error *err)
{
    const char *option = options->simulate_engine == MTLM_ENGINE_STARPU
                             ? "--simulate-engine "
                               "starpu"
                         : options->graph_out ? "--graph-out"
                                              : NULL;

    if (!option)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "state of this job travels to a disk, of which %s "
                          "has no model; --offload none keeps the state in "
                          "memory",
                          option);
}

int mtlm_simulate_offload(struct mtlm_options *options, struct mtlm_wish *wish,
                          const struct mtlm_cluster *cluster, const char *file,
                          struct mtlm_hosts *hosts, struct mtlm_choice *choice,
                          struct mtlm_error *err)
{
    struct mtlm_hosts cpus = hosts_of_cpus(hosts, options, cluster);
    struct mtlm_choice chosen;

    if (!options->simulate_file || options->offload == MTLM_OFFLOAD_NONE
        || (options->offload == MTLM_OFFLOAD_AUTO
            && needs_no_disk(options, cluster)))
        return 0;
    if (cluster->disk.read_bytes_per_s == 0)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--offload reads and writes a disk, and %s has "
                              "no section [disk] with its rates",
                              file);
    if (mtlm_offload_choice_make(options, wish, &cpus, &chosen, NULL, err) < 0)
        return -1;
    if (options->offload == MTLM_OFFLOAD_NONE && chosen.need <= cpus.available)
        return 0;
    *hosts = cpus;
    *choice = chosen;
    return options->offload == MTLM_OFFLOAD_NONE
                   || check_outputs(options, err) == 0
               ? 1
               : -1;
}
