#ifndef MTLM_CPU_H
#define MTLM_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Processor cores: those of this machine, and those that this process may use.
 * mpirun and taskset bind processes to some cores.  A container or another
 * control group with a quota of n cores counts as a machine of n cores;
 * processes bound to different cores count the whole quota each. */
struct mtlm_cpu {
    int machine_cores;
    int allowed_cores;  /* 1 .. machine_cores */
    uint64_t mask_hash; /* equal for processes bound to the same cores */
};

/* Detects the cores.  Fails only where hwloc does. */
int mtlm_cpu_detect(struct mtlm_cpu *cpu, struct mtlm_error *err);

/* Returns the processing units (hardware threads) that this process sees, or
 * their cores; at least 1. */
int mtlm_cpu_processors(bool cores);

/* Returns how many of the allowed cores belong to the rank-th (from 0) of
 * ranks_sharing processes that share them; at least 1. */
int mtlm_cpu_share(const struct mtlm_cpu *cpu, int ranks_sharing, int rank);

/* Writes a line for the user when the binding leaves cores idle; returns text
 * [bytes], or NULL when there is nothing to say.  used_cores: cores that all
 * ranks of this machine use together. */
const char *mtlm_cpu_hint(const struct mtlm_cpu *cpu, int used_cores,
                          char *text, size_t bytes);

/* Returns the cores that a quota "200000 100000" (microseconds of processor
 * time per period, or "max") amounts to, rounded up; 0: no limit. */
int mtlm_cpu_quota(const char *text);

/* Returns the least quota of this process's control groups (version 1 or 2) and
 * all groups around them, in cores; 0: no limit.  root: where proc and sys are,
 * "" except in tests. */
int mtlm_cpu_groups_quota(const char *root);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_CPU_H */
