#ifndef MTLM_LAUNCHER_H
#define MTLM_LAUNCHER_H

#include "runtime/base/error.h"

/* What the launcher (mpirun, srun) tells its processes before MPI starts. */

/* This process's rank; alone: -1. */
int mtlm_launcher_rank(void);

/* Processes of the job, and those on this machine; alone: 1. */
int mtlm_launcher_size(void);
int mtlm_launcher_on_host(void);

/* Processes started with this one, itself among them; alone: 1.  Unlike
 * mtlm_launcher_size() not those that a script of Slurm's could start yet.  To
 * be asked before MPI starts, which may set such variables itself. */
int mtlm_launcher_together(void);

/* -1 where the launcher started that many together, but MPI sees ranks = 1:
 * they do not speak the same protocol, and each process would do the whole job
 * by itself.  Each must say so: none of them knows of the others. */
int mtlm_launcher_apart(int together, int ranks, struct mtlm_error *err);

#endif /* MTLM_LAUNCHER_H */
