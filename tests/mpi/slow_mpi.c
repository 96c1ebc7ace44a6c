/* To be preloaded (LD_PRELOAD): once the file SLOW_MPI is there each MPI_Test()
 * takes longer than a second. */

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* As in every mpi.h, but for the types that are pointed to. */
int PMPI_Test(void *request, int *flag, void *status);
int MPI_Test(void *request, int *flag, void *status);

int MPI_Test(void *request, int *flag, void *status)
{
    const char *when = getenv("SLOW_MPI");
    const struct timespec t = {1, 100000000};

    if (when && access(when, F_OK) == 0)
        nanosleep(&t, NULL);
    return PMPI_Test(request, flag, status);
}
