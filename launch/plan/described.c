/* Workers, memory and hosts of a described machine. */

#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "launch/options/options_offload.h"
#include "launch/plan/described.h"
#include "launch/plan/layout_choice.h"
#include "launch/plan/schedule_choice.h"

bool mtlm_described_is_planned(const struct mtlm_options *options)
{
    return options->cluster_file && options->world_size > 0
           && options->times.stages == 0;
}

int mtlm_described_workers(const struct mtlm_options *options)
{
    return options->workers > 0 ? options->workers : 1;
}

bool mtlm_described_drives_gpu(const struct mtlm_options *options)
{
    return mtlm_described_workers(options) == 1;
}

struct mtlm_wish mtlm_described_wish(const struct mtlm_options *options,
                                     const struct mtlm_cluster *cluster)
{
    const int workers = mtlm_described_workers(options);
    struct mtlm_wish wish = mtlm_layout_choice_wish(options, workers);

    if (mtlm_described_drives_gpu(options))
        mtlm_layout_choice_wish_gpus(&wish, true);
    mtlm_schedule_choice_wish_cluster(&wish, options, cluster);
    return wish;
}

/* Returns the bytes of a host's memory for state of its devices. */
static double room_of(const struct mtlm_options *options,
                      const struct mtlm_cluster *cluster)
{
    if (!mtlm_options_offload_is_planned(options)
        || !mtlm_described_drives_gpu(options))
        return 0;
    return cluster->host_memory_bytes > 0 && !options->ignore_memory
               ? cluster->host_memory_bytes
               : INFINITY;
}

int mtlm_described_hosts(const struct mtlm_options *options,
                         const struct mtlm_cluster *cluster, const char *path,
                         int64_t ranks, struct mtlm_hosts *hosts,
                         struct mtlm_error *err)
{
    const struct mtlm_cluster *c = cluster;
    const int64_t devices = c->hosts * c->devices; /* 0: unknown */
    const int per_host =
        c->devices > 0 && c->devices < ranks ? c->devices : ranks;

    if (devices > 0 && ranks > devices)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%" PRId64 " ranks are more than the %" PRId64
                              " devices of %s: hosts = %" PRId64
                              ", devices = %" PRId64,
                              ranks, devices, path, c->hosts, c->devices);
    *hosts = (struct mtlm_hosts){.ranks = ranks,
                                 .per_host = per_host,
                                 .gpus = per_host,
                                 .disk = room_of(options, cluster),
                                 .available = c->memory_bytes > 0
                                                      && !options->ignore_memory
                                                  ? c->memory_bytes
                                                  : INFINITY};
    return 0;
}
