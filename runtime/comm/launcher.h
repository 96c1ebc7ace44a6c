#ifndef MTLM_LAUNCHER_H
#define MTLM_LAUNCHER_H

#include "runtime/base/error.h"

/* What the launcher (mpirun, srun) tells its processes by environment
 * variables, before MPI starts.  A process without a launcher is alone. */

/* Returns this process's rank; alone: -1. */
int mtlm_launcher_rank(void);

/* Returns the number of processes of the job; alone: 1. */
int mtlm_launcher_size(void);

/* Returns the number of processes on this host; alone: 1. */
int mtlm_launcher_on_host(void);

/* Returns the number of processes started together with this one, this one
 * included; alone: 1.  Differs from mtlm_launcher_size() inside a Slurm script,
 * which could start more.  Called before MPI starts, which may set these
 * variables itself. */
int mtlm_launcher_together(void);

/* Call before MPI starts.  Sets two variables of Open MPI 4 unless the
 * environment has them.  A process that MPI sees alone starts no daemon.  A
 * process that was started alone creates no session directories: all jobs of a
 * user share one of them, and a job that ends removes it while another one
 * starts. */
void mtlm_launcher_prepare_mpi(void);

/* Checks that MPI connects the processes that the launcher started together.
 * Returns -1 and MTLM_EXIT_USAGE when MPI sees ranks = 1 of several processes:
 * launcher and MPI do not speak the same protocol, and each process would do
 * the whole job.  Each process prints the error: none knows of the others. */
int mtlm_launcher_apart(int together, int ranks, struct mtlm_error *err);

#endif /* MTLM_LAUNCHER_H */
