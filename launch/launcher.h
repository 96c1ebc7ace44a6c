#ifndef MTLM_LAUNCHER_H
#define MTLM_LAUNCHER_H

/* What the launcher (mpirun, srun) tells its processes before MPI starts. */

/* This process's rank; alone: -1. */
int mtlm_launched_rank(void);

/* Processes of the job, and those on this machine; alone: 1. */
int mtlm_launched_size(void);
int mtlm_launched_on_host(void);

#endif /* MTLM_LAUNCHER_H */
