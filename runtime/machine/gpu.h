#ifndef MTLM_GPU_H
#define MTLM_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* GPUs: which are usable, and which rank drives which.  Decisions only; the
 * facts come from runtime/machine/gpu_detect.h. */

enum { MTLM_MAX_GPUS = 16 };

struct mtlm_gpu {
    char name[64];
    uint64_t id; /* of the device; equal for all processes that see it */
    double total_bytes;
};

/* The GPUs that a process sees; CUDA_VISIBLE_DEVICES may hide some. */
struct mtlm_gpus {
    bool unwanted; /* not looked for */
    /* CUDA versions, 13000 for 13.0: of the program (0: built without CUDA),
     * and the newest that the driver supports (0: no driver). */
    int toolkit, driver;
    char trouble[128]; /* CUDA's reason why the GPUs are unusable, or "" */
    int count;
    struct mtlm_gpu gpu[MTLM_MAX_GPUS]; /* [count] */
};

/* Refuses GPUs that exist but are unusable.  A machine without GPU or driver
 * and a program without CUDA pass: they train on CPUs. */
int mtlm_gpus_check(const struct mtlm_gpus *gpus, struct mtlm_error *err);

/* Returns why a program with CUDA trains on CPUs, "none, there is no driver";
 * NULL: the program has no CUDA. */
const char *mtlm_gpus_missing(const struct mtlm_gpus *gpus);

/* Returns "NVIDIA H200, 139.81 GiB, driver for CUDA 13.0, built with 13.0",
 * which the caller frees; NULL for gpu -1. */
char *mtlm_gpu_describe(const struct mtlm_gpus *gpus, int gpu);

/* Assigns GPUs to the n ranks of a host, whose views are gpus [n].  gpu [n]:
 * each rank's index in its view; -1: all GPUs that it sees have per_gpu ranks.
 * In order of rank, each takes the first of the GPUs with the fewest ranks;
 * with equal views this is the rank modulo the number of GPUs. */
void mtlm_gpus_assign(const struct mtlm_gpus gpus[], int n, int per_gpu,
                      int gpu[]);

/* Returns how many of the n ranks, this one included, drive rank's GPU. */
int mtlm_gpus_sharing(const struct mtlm_gpus gpus[], int n, const int gpu[],
                      int rank);

/* Returns the bytes of a GPU that one of `sharing` ranks may plan with: its
 * share of the free bytes, less MTLM_GPU_LIBRARIES_BYTES. */
double mtlm_gpu_share(double free_bytes, int sharing);

/* Bytes per rank beyond the plan: cuBLASLt's workspace, buffers of cuDNN and
 * NCCL. */
#define MTLM_GPU_LIBRARIES_BYTES (256.0 * 1024 * 1024)

/* Bytes of host memory that CUDA's libraries take per rank once they compute:
 * 231 and 236 MiB on an H200 with cuDNN (perf/results/gpu-nvidia-h200.md). */
#define MTLM_GPU_HOST_BYTES (240.0 * 1024 * 1024)

#endif /* MTLM_GPU_H */
