/* --simulate with --offload: what is offloaded on a described machine. */

#include "config.h"

#include <math.h>

#include "launch/options/option_table.h"
#include "launch/plan/offload_choice.h"
#include "launch/simulate/simulate_offload.h"

double mtlm_simulate_offload_host_bytes(const struct mtlm_hosts *hosts,
                                        double each)
{
    return each * fmin(hosts->ranks, hosts->per_host);
}

/* Returns the same hosts, whose ranks share memory and disk. */
static struct mtlm_hosts hosts_of_cpus(const struct mtlm_hosts *hosts,
                                       const struct mtlm_options *options,
                                       const struct mtlm_cluster *cluster)
{
    const bool limited = cluster->memory_bytes > 0 && !options->ignore_memory;
    const double host =
        mtlm_simulate_offload_host_bytes(hosts, cluster->memory_bytes);

    return (struct mtlm_hosts){.ranks = hosts->ranks,
                               .per_host = hosts->per_host,
                               .available = limited ? host : INFINITY,
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

/* Returns an option about a disk that the command line gives, or NULL. */
static const char *option_of_disk(const struct mtlm_options *options)
{
    static const enum mtlm_option_id of_disk[] = {MTLM_OPT_OFFLOAD_MEMORY,
                                                  MTLM_OPT_OFFLOAD_DIR};

    if (options->offload != MTLM_OFFLOAD_AUTO)
        return "offload";
    for (int i = 0; i < 2; i++)
        if (mtlm_options_source(options, of_disk[i])
            == MTLM_SOURCE_COMMAND_LINE)
            return mtlm_option_name(of_disk[i]);
    return NULL;
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
                          "state of this job is offloaded to a disk, of "
                          "which %s has no model; --offload none keeps the "
                          "state in memory",
                          option);
}

int mtlm_simulate_offload(struct mtlm_options *options, struct mtlm_wish *wish,
                          const struct mtlm_cluster *cluster, const char *file,
                          struct mtlm_hosts *hosts, struct mtlm_choice *choice,
                          struct mtlm_error *err)
{
    const char *wanted = option_of_disk(options);
    struct mtlm_hosts cpus = hosts_of_cpus(hosts, options, cluster);
    struct mtlm_choice chosen;

    if (!options->simulate_file || options->offload == MTLM_OFFLOAD_NONE)
        return 0;
    if (wanted && cluster->disk.read_bytes_per_s == 0)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--%s is for a disk, and %s has no section [disk] "
            "with its rates",
            wanted, file);
    if (options->offload == MTLM_OFFLOAD_AUTO
        && needs_no_disk(options, cluster))
        return 0;
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
