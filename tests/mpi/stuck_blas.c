/* To be preloaded (LD_PRELOAD): a matrix product that never ends. */

#include <unistd.h>

void cblas_sgemm(void);

void cblas_sgemm(void)
{
    for (;;)
        pause();
}
