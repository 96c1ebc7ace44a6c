/* Workers, memory and hosts of a described machine. */

#include "config.h"

#include <inttypes.h>
#include <math.h>

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

struct mtlm_wish mtlm_described_wish(const struct mtlm_options *options,
                                     const struct mtlm_cluster *cluster)
{
    const int workers = mtlm_described_workers(options);
    struct mtlm_wish wish = mtlm_layout_choice_wish(options, workers);

    if (workers == 1)
        mtlm_layout_choice_wish_gpus(&wish, true);
    mtlm_schedule_choice_wish_cluster(&wish, options, cluster);
    return wish;
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
                                 .available = c->memory_bytes > 0
                                                      && !options->ignore_memory
                                                  ? c->memory_bytes
                                                  : INFINITY};
    return 0;
}
