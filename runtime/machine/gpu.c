/* Decides which GPUs are usable and which rank drives which. */

#include "config.h"

#include <stdio.h>

#include "runtime/base/memory.h"
#include "runtime/base/units.h"
#include "runtime/machine/gpu.h"

static int major(int version)
{
    return version / 1000;
}

/* Returns "13.0" for 13000; valid for the next three calls. */
static const char *version_text(int version)
{
    static char text[4][16];
    static int next;

    next = (next + 1) % 4;
    snprintf(text[next], sizeof(text[next]), "%d.%d", major(version),
             version % 1000 / 10);
    return text[next];
}

int mtlm_gpus_check(const struct mtlm_gpus *gpus, struct mtlm_error *err)
{
    if (gpus->trouble[0] && major(gpus->driver) < major(gpus->toolkit))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "the GPU's driver knows CUDA up to %s, this program was built with "
            "CUDA %s; install a newer driver, or train on CPUs with --no-gpu",
            version_text(gpus->driver), version_text(gpus->toolkit));
    if (gpus->trouble[0])
        return mtlm_error_set(err, MTLM_EXIT_PEER,
                              "the GPUs cannot be used: %s; --no-gpu trains on "
                              "CPUs",
                              gpus->trouble);
    return 0;
}

const char *mtlm_gpus_missing(const struct mtlm_gpus *gpus)
{
    if (gpus->toolkit == 0)
        return NULL;
    if (gpus->unwanted)
        return "not wanted (--no-gpu, STARPU_NCUDA=0)";
    return gpus->driver ? "none is visible" : "none, there is no driver";
}

char *mtlm_gpu_describe(const struct mtlm_gpus *gpus, int gpu)
{
    return gpu < 0 ? NULL
                   : mtlm_sprintf("%s, %.2f GiB, driver for CUDA %s, built "
                                  "with %s",
                                  gpus->gpu[gpu].name,
                                  gpus->gpu[gpu].total_bytes / MTLM_GIB,
                                  version_text(gpus->driver),
                                  version_text(gpus->toolkit));
}

/* Returns how many ranks before the n-th drive the device that the n-th sees as
 * i. */
static int users(const struct mtlm_gpus gpus[], int n, const int gpu[], int i)
{
    int count = 0;

    for (int r = 0; r < n; r++)
        count += gpu[r] >= 0 && gpus[r].gpu[gpu[r]].id == gpus[n].gpu[i].id;
    return count;
}

void mtlm_gpus_assign(const struct mtlm_gpus gpus[], int n, int per_gpu,
                      int gpu[])
{
    for (int r = 0; r < n; r++) {
        int fewest = per_gpu;

        gpu[r] = -1;
        for (int i = 0; i < gpus[r].count; i++) {
            const int count = users(gpus, r, gpu, i);

            if (count < fewest) {
                fewest = count;
                gpu[r] = i;
            }
        }
    }
}

int mtlm_gpus_sharing(const struct mtlm_gpus gpus[], int n, const int gpu[],
                      int rank)
{
    int count = 0;

    for (int r = 0; r < n; r++)
        count += gpu[r] >= 0 && gpu[rank] >= 0
                 && gpus[r].gpu[gpu[r]].id == gpus[rank].gpu[gpu[rank]].id;
    return count;
}

double mtlm_gpu_share(double free_bytes, int sharing)
{
    const double mine = free_bytes / sharing - MTLM_GPU_LIBRARIES_BYTES;

    return mine > 0 ? mine : 0;
}
