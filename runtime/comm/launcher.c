/* Environment variables: what mpirun and srun tell, and what Open MPI reads. */

#include "config.h"

#include <stddef.h>
#include <stdlib.h>

#include "runtime/comm/launcher.h"

enum { NAMES = 4 };

static int first_of(const char *const names[NAMES], int otherwise)
{
    for (int i = 0; i < NAMES; i++)
        if (names[i] && getenv(names[i]))
            return atoi(getenv(names[i]));
    return otherwise;
}

int mtlm_launcher_rank(void)
{
    static const char *const names[NAMES] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                             "PMIX_RANK", "SLURM_PROCID"};

    return first_of(names, -1);
}

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

int mtlm_launcher_size(void)
{
    static const char *const names[NAMES] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                             "SLURM_NTASKS", NULL};

    return at_least_one(first_of(names, 1));
}

int mtlm_launcher_together(void)
{
    static const char *const names[NAMES] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                             "SLURM_STEP_NUM_TASKS", NULL};

    return at_least_one(first_of(names, 1));
}

void mtlm_launcher_prepare_mpi(void)
{
    /* Also among several processes: MPI may not hear their launcher. */
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    /* A Slurm script has a rank, too, but a launcher by PMIx sets this one. */
    if (mtlm_launcher_together() == 1 && !getenv("PMIX_RANK"))
        setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

int mtlm_launcher_apart(int together, int ranks, struct mtlm_error *err)
{
    if (ranks > 1 || together == 1)
        return 0;
    return mtlm_error_set(
        err, MTLM_EXIT_USAGE,
        "started as one of %d ranks, but MPI sees only this one: srun needs "
        "--mpi=pmix (or another of 'srun --mpi=list' that this MPI supports), "
        "and mpirun must belong to the MPI that mtlm-dag was built with; for "
        "separate jobs, start each with 'env -u OMPI_COMM_WORLD_SIZE "
        "-u PMI_SIZE -u SLURM_STEP_NUM_TASKS mtlm-dag ...'",
        together);
}

int mtlm_launcher_on_host(void)
{
    static const char *const names[NAMES] = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                             "MPI_LOCALNRANKS",
                                             "SLURM_NTASKS_PER_NODE", NULL};

    return at_least_one(first_of(names, 1));
}
