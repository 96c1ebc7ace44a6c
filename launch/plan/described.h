#ifndef MTLM_DESCRIBED_H
#define MTLM_DESCRIBED_H

/* A job on the machine of a cluster file, whose ranks need not exist.  A device
 * has one worker, which takes whole samples, and its own memory; with
 * --workers, a rank is so many workers. */

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* Returns whether --dry-run plans for the machine of --synthetic, not for this
 * one: --world-size says that the ranks need not exist. */
bool mtlm_described_is_planned(const struct mtlm_options *options);

/* Returns the workers of a rank. */
int mtlm_described_workers(const struct mtlm_options *options);

/* Returns whether a rank drives a device: one worker, not several cores. */
bool mtlm_described_drives_gpu(const struct mtlm_options *options);

/* Returns the training that the options ask for.  The wish borrows cluster. */
struct mtlm_wish mtlm_described_wish(const struct mtlm_options *options,
                                     const struct mtlm_cluster *cluster);

/* Sets *hosts to the machine for that many ranks.  Of a plan, the host memory
 * is room for offloaded state, of an unknown size without limit.
 * --ignore-memory: memory has no limit.  Refuses (MTLM_EXIT_USAGE) more ranks
 * than the machine has devices; path names the file. */
int mtlm_described_hosts(const struct mtlm_options *options,
                         const struct mtlm_cluster *cluster, const char *path,
                         int64_t ranks, struct mtlm_hosts *hosts,
                         struct mtlm_error *err);

#endif /* MTLM_DESCRIBED_H */
