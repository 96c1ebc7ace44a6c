#ifndef MTLM_SIMULATE_OFFLOAD_H
#define MTLM_SIMULATE_OFFLOAD_H

/* --offload of a simulated job, on the disk of the cluster file. */

#include "graph/predict/choose.h"
#include "launch/options/options.h"

/* Settles --offload as a run on such hosts does
 * (launch/plan/offload_choice.h).  Ranks are processes on CPUs, which share the
 * memory of their host: memory_gb for each, or --offload-memory in all.  A disk
 * has room for all state.  file: name of the cluster file.
 *
 * Returns 1 if state is offloaded, or if no choice fits into memory: sets
 * *hosts to these hosts, and *choice.  Returns 0 if nothing is offloaded, with
 * *hosts and *choice as they were.  Returns -1 (MTLM_EXIT_USAGE) if the file
 * has no disk that the options need, or if an option has no model of a disk. */
int mtlm_simulate_offload(struct mtlm_options *options, struct mtlm_wish *wish,
                          const struct mtlm_cluster *cluster, const char *file,
                          struct mtlm_hosts *hosts, struct mtlm_choice *choice,
                          struct mtlm_error *err);

/* Returns the bytes that the ranks of a host share, `each` per rank. */
double mtlm_simulate_offload_host_bytes(const struct mtlm_hosts *hosts,
                                        double each);

#endif /* MTLM_SIMULATE_OFFLOAD_H */
