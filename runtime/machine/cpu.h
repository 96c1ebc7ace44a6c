#ifndef MTLM_CPU_H
#define MTLM_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The processor cores of this machine and those that this process may run
 * on (mpirun and taskset bind processes to some of them).  A container that
 * may use the time of n cores only counts as a machine of n cores. */
struct mtlm_cpu {
    int machine_cores;
    int allowed_cores;  /* 1 .. machine_cores */
    uint64_t mask_hash; /* equal for processes bound to the same cores */
};

/* Fails only where hwloc does. */
int mtlm_cpu_detect(struct mtlm_cpu *cpu, struct mtlm_error *err);

/* How many of the allowed cores belong to the rank-th (from 0) of
 * ranks_sharing processes that share them: at least one. */
int mtlm_cpu_share(const struct mtlm_cpu *cpu, int ranks_sharing, int rank);

/* A line for the user when the binding leaves cores without work: used_cores
 * is what all ranks of this machine use together.  NULL when there is nothing
 * to say, else text. */
const char *mtlm_cpu_hint(const struct mtlm_cpu *cpu, int used_cores,
                          char *text, size_t bytes);

/* Cores that a quota of the form "200000 100000" (microseconds of processor
 * time in each period, or "max") amounts to, rounded up; 0: no limit. */
int mtlm_cpu_quota(const char *text);

#ifdef __cplusplus
}
#endif

#endif /* MTLM_CPU_H */
